import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnOutput } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import type { FunctionGrants } from './function-grants.ts';
import { createProviderKey } from './provider-key.ts';
import type { Settings } from './settings.ts';

/** The settings and the secret that agents need to read web pages and to search the web. */
export class WebAccess extends Construct {
  private readonly settings: Settings;
  private readonly searchApiKey: Secret | undefined;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    if (settings.webSearch?.provider !== 'brave') return;
    this.searchApiKey = createProviderKey(this, 'BraveApiKey', {
      description: 'The key for Brave Search',
      production: settings.production,
    });
    new CfnOutput(scope, 'BraveApiKeySecretArn', { value: this.searchApiKey.secretArn });
  }

  passTo(grants: FunctionGrants): void {
    const { outboundAllow, webSearch } = this.settings;
    if (outboundAllow.length > 0) grants.setVariable(variables.outboundAllow, outboundAllow.join(','));
    if (webSearch === undefined) return;
    grants.setVariable(variables.webSearchProvider, webSearch.provider);
    grants.setVariable(variables.webSearchUrl, webSearch.url);
    if (this.searchApiKey !== undefined)
      grants.readsSecret(this.searchApiKey, variables.webSearchApiKeySecret);
  }
}
