import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

/** The KMS key and the settings for functions that accept or call webhooks. */
export class Webhooks extends Construct {
  private readonly settings: Settings;
  private readonly key: Key;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.key = new Key(this, 'Key', {
      description: 'Encrypts the secrets of webhooks',
      enableKeyRotation: true,
      // Without the key the addresses and secrets of all pending webhooks are lost.
      removalPolicy: removalPolicyOf(settings),
      pendingWindow: Duration.days(30),
    });
    pinLogicalId(this.key, 'WebhookKey');
    // The command that replaces a webhook's secret encrypts and decrypts.
    new CfnOutput(Stack.of(this), 'WebhookKeyArn', { value: this.key.keyArn });
  }

  /** Gives a function what it needs to accept webhooks: it checks their addresses and encrypts them. */
  areAcceptedBy(handler: ServiceFunction): void {
    handler.encryptsWith(this.key, variables.webhookKey);
    this.configure(handler);
  }

  areCalledBy(handler: ServiceFunction): void {
    handler.decryptsWith(this.key, variables.webhookKey);
    this.configure(handler);
  }

  private configure(handler: ServiceFunction): void {
    const { webhookAllow, webhookPlainLoopback, webhookRetrySeconds, webhookTimeoutSeconds } = this.settings;
    if (webhookAllow.length > 0) handler.addEnvironment(variables.webhookAllow, webhookAllow.join(','));
    if (webhookPlainLoopback) handler.addEnvironment(variables.webhookPlainLoopback, 'true');
    handler.addEnvironment(variables.webhookTimeoutSeconds, String(webhookTimeoutSeconds));
    handler.addEnvironment(variables.webhookRetrySeconds, webhookRetrySeconds.join(','));
  }
}
