import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import type { Pool } from '#contract/pools.ts';
import { formatLimits } from '#contract/rate-limits.ts';
import { variables } from '#runtime/environment/variables.ts';
import type { FunctionBundles } from './bundles/function-bundles.ts';
import { type ConcurrencyPlan, uploadsPerEnvironment } from './concurrency.ts';
import type { FunctionGrants } from './function-grants.ts';
import { type FunctionName, pascalCase } from './function-names.ts';
import { type Access, access, propertiesOf, type WebFunctionName, webAccess } from './function-table.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { OriginSecrets } from './stack-secrets.ts';
import type { WebAccess } from './web-access.ts';
import type { Webhooks } from './webhooks.ts';

/** What functions may need access to. */
export interface Resources {
  table: ITableV2;
  content: Bucket;
  files: Bucket;
  openAiApiKey: Secret;
  webAccess: WebAccess;
  webhooks: Webhooks;
  /** Undefined without a distribution. */
  originSecrets: OriginSecrets | undefined;
  /** Undefined if the gateway calls no web function. */
  callerSecret: Secret | undefined;
}

/** Creates functions, each with the permissions and the variables that the function table lists for it. */
export class ServiceFunctions {
  readonly created = new Map<FunctionName, ServiceFunction>();
  private readonly scope: Construct;
  private readonly props: {
    bundles: FunctionBundles;
    concurrency: ConcurrencyPlan;
    resources: Resources;
    settings: Settings;
  };

  constructor(scope: Construct, props: ServiceFunctions['props']) {
    this.scope = scope;
    this.props = props;
  }

  create(name: FunctionName): ServiceFunction {
    const { bundles, concurrency, settings } = this.props;
    const handler = new ServiceFunction(this.scope, pascalCase(name), {
      ...propertiesOf(name),
      codeFolder: bundles.folderOf(name),
      reservedExecutions: concurrency.reserved.get(name),
      settings,
    });
    this.created.set(name, handler);
    const needs = access[name];
    this.grant(handler.grants, needs);
    this.grantWebhooks(handler, needs.webhooks);
    return handler;
  }

  /** A function that was created before. */
  get(name: FunctionName): ServiceFunction {
    const handler = this.created.get(name);
    if (handler === undefined) throw new Error(`The function ${name} was not created`);
    return handler;
  }

  /** Grants a function or web function what it needs, and sets the variables for it. */
  private grant(grants: FunctionGrants, needs: Access): void {
    const { settings } = this.props;
    this.grantData(grants, needs);
    if (needs.model) this.grantModels(grants, needs);
    if (needs.model || needs.replySettings) addReplySettings(grants, settings);
    if (needs.usage) grants.setVariable(variables.usageDays, String(settings.usageDays));
    if (needs.batchSettings) addBatchSettings(grants, settings);
    if (needs.shares) grants.setVariable(variables.poolSizes, JSON.stringify(this.poolSizes()));
    if (needs.stageLimits) grants.setVariable(variables.stageLimits, stageLimitsOf(settings));
    this.grantSecrets(grants, needs);
  }

  grantWeb(grants: FunctionGrants, name: WebFunctionName): void {
    this.grant(grants, webAccess[name]);
  }

  /** How many slots each pool has in the stage. */
  private poolSizes(): Record<Pool, number> {
    const { concurrency, settings } = this.props;
    return {
      replies: settings.webEnvironments * settings.requestsPerEnvironment,
      uploads: settings.webEnvironments * uploadsPerEnvironment(settings),
      readers: concurrency.shortRoutes,
      preparations: concurrency.preparations,
      webhooks: concurrency.webhooks,
    };
  }

  private grantData(grants: FunctionGrants, needs: Access): void {
    const { table, content, files } = this.props.resources;
    grants.usesTable(table, needs.reads, needs.writes ?? {});
    if (needs.content !== undefined) grants.usesObjects(content, needs.content, variables.contentBucket);
    if (needs.files !== undefined) grants.usesObjects(files, needs.files, variables.fileBucket);
  }

  private grantSecrets(grants: FunctionGrants, needs: Access): void {
    const { originSecrets, callerSecret } = this.props.resources;
    if (needs.originSecret && originSecrets !== undefined)
      grants.readsSecrets(originSecrets.accepted, variables.originSecrets);
    if (needs.signsCallers && callerSecret !== undefined) {
      grants.readsSecret(callerSecret, variables.callerSecret);
      const { authorizerCacheSeconds } = this.props.settings;
      grants.setVariable(variables.authorizerCacheSeconds, String(authorizerCacheSeconds));
    }
  }

  /** The permissions of a function that replies: models, and what agents' tools need. */
  private grantModels(grants: FunctionGrants, { files }: Access): void {
    const { settings, resources } = this.props;
    grants.invokesModels(settings.bedrockModels);
    grants.queriesKnowledgeBases(settings.bedrockKnowledgeBases);
    grants.readsSecret(resources.openAiApiKey, variables.openAiApiKeySecret);
    grants.setVariable(variables.openAiBaseUrl, settings.openAiBaseUrl);
    if (settings.showProviderErrors) grants.setVariable(variables.showProviderErrors, 'true');
    resources.webAccess.passTo(grants);
    if (files === undefined) return;
    const preparer = this.created.get('prepare-attachment') ?? this.create('prepare-attachment');
    grants.invokes(preparer.aliasByName, variables.prepareAttachmentFunction);
  }

  private grantWebhooks(handler: ServiceFunction, need: 'accepted' | 'called' | undefined): void {
    const { webhooks } = this.props.resources;
    if (need === 'accepted') webhooks.areAcceptedBy(handler);
    if (need === 'called') webhooks.areCalledBy(handler);
  }
}

/** The limits that apply to a workspace without its own, as the value of a variable. */
const stageLimitsOf = ({ rateLimits, openBatches }: Settings): string =>
  formatLimits({ ...rateLimits, openBatches });

function addReplySettings(grants: FunctionGrants, settings: Settings): void {
  grants.setVariable(variables.streamTimeoutSeconds, String(settings.streamTimeoutSeconds));
  grants.setVariable(variables.leaseSeconds, String(settings.leaseSeconds));
  grants.setVariable(variables.plainReplySeconds, String(settings.plainReplySeconds));
  grants.setVariable(variables.historyCharacters, String(settings.historyCharacters));
  grants.setVariable(variables.attachedFiles, String(settings.attachedFiles));
  grants.setVariable(variables.replyBytes, String(settings.replyBytes));
  grants.setVariable(variables.replyModelCalls, String(settings.replyModelCalls));
  grants.setVariable(variables.replyToolUses, String(settings.replyToolUses));
  grants.setVariable(variables.replyToolsAtOnce, String(settings.replyToolsAtOnce));
}

function addBatchSettings(grants: FunctionGrants, settings: Settings): void {
  grants.setVariable(variables.batchTimeoutSeconds, String(settings.batchTimeoutSeconds));
  grants.setVariable(variables.batchItemSeconds, String(settings.batchItemSeconds));
}
