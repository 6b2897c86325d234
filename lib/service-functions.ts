import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { formatLimits } from '#contract/rate-limits.ts';
import { variables } from '#runtime/environment/variables.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import type { FunctionBundles } from './function-bundles.ts';
import type { FunctionName } from './function-names.ts';
import { access, propertiesOf, updatedItemsOf } from './function-table.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { WebAccess } from './web-access.ts';
import type { Webhooks } from './webhooks.ts';

/** What functions may need access to. */
export interface Resources {
  table: TableV2;
  content: Bucket;
  files: Bucket;
  openAiApiKey: Secret;
  webAccess: WebAccess;
  webhooks: Webhooks;
  /** Undefined without a distribution. */
  originSecret: Secret | undefined;
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
    this.grantData(handler, name);
    if (needs.model) this.grantModels(handler);
    if (needs.model || needs.replySettings) addReplySettings(handler, settings);
    if (needs.usage) handler.addEnvironment(variables.usageDays, String(settings.usageDays));
    this.grantWebhooks(handler, needs.webhooks);
    if (needs.batchSettings) addBatchSettings(handler, settings);
    if (needs.stageLimits) handler.addEnvironment(variables.stageLimits, stageLimitsOf(settings));
    return handler;
  }

  /** A function that was created before. */
  get(name: FunctionName): ServiceFunction {
    const handler = this.created.get(name);
    if (handler === undefined) throw new Error(`The function ${name} was not created`);
    return handler;
  }

  private grantData(handler: ServiceFunction, name: FunctionName): void {
    const { table, content, files, originSecret } = this.props.resources;
    const needs = access[name];
    handler.usesTable(table, needs.table);
    const updated = updatedItemsOf(name);
    if (updated.length > 0) handler.updatesItems(table, updated);
    if (needs.content !== undefined) handler.usesObjects(content, needs.content, variables.contentBucket);
    if (needs.files !== undefined) handler.usesObjects(files, needs.files, variables.fileBucket);
    if (needs.links && originSecret !== undefined) handler.readsSecret(originSecret, variables.originSecret);
  }

  /** The permissions of a function that replies: models, and what agents' tools need. */
  private grantModels(handler: ServiceFunction): void {
    const { settings, resources } = this.props;
    handler.invokesModels(settings.bedrockModels);
    handler.queriesKnowledgeBases(settings.bedrockKnowledgeBases);
    handler.readsSecret(resources.openAiApiKey, variables.openAiApiKeySecret);
    handler.addEnvironment(variables.openAiBaseUrl, settings.openAiBaseUrl);
    resources.webAccess.passTo(handler);
    const preparer = this.created.get('prepare-attachment') ?? this.create('prepare-attachment');
    handler.invokes(preparer, variables.prepareAttachmentFunction);
  }

  private grantWebhooks(handler: ServiceFunction, need: 'accepted' | 'called' | undefined): void {
    const { webhooks } = this.props.resources;
    if (need === 'accepted') webhooks.areAcceptedBy(handler);
    if (need === 'called') webhooks.areCalledBy(handler);
  }
}

/** The limits that apply to a workspace without its own, as the value of a variable. */
export const stageLimitsOf = ({ rateLimits, openBatches }: Settings): string =>
  formatLimits({ ...rateLimits, openBatches });

function addReplySettings(handler: ServiceFunction, settings: Settings): void {
  handler.addEnvironment(variables.streamTimeoutSeconds, String(settings.streamTimeoutSeconds));
  handler.addEnvironment(variables.leaseSeconds, String(settings.leaseSeconds));
  handler.addEnvironment(variables.plainReplySeconds, String(settings.plainReplySeconds));
  handler.addEnvironment(variables.historyCharacters, String(settings.historyCharacters));
  handler.addEnvironment(variables.attachedFiles, String(settings.attachedFiles));
  handler.addEnvironment(variables.replyBytes, String(settings.replyBytes));
  handler.addEnvironment(variables.replyModelCalls, String(settings.replyModelCalls));
  handler.addEnvironment(variables.replyToolUses, String(settings.replyToolUses));
  handler.addEnvironment(variables.replyToolsAtOnce, String(settings.replyToolsAtOnce));
}

function addBatchSettings(handler: ServiceFunction, settings: Settings): void {
  handler.addEnvironment(variables.batchTimeoutSeconds, String(settings.batchTimeoutSeconds));
  handler.addEnvironment(variables.batchItemSeconds, String(settings.batchItemSeconds));
}

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
