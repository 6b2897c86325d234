import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnOutput, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { formatLimits } from '#contract/rate-limits.ts';
import { type RouteName, routes } from '#contract/routes.ts';
import { variables } from '#runtime/variables.ts';
import { Alarms } from './alarms.ts';
import { type BatchFunctionName, BatchWorkflow, workerTimeoutSeconds } from './batch-workflow.ts';
import { acknowledgeRegions } from './bedrock-models.ts';
import { ContentBucket } from './content-bucket.ts';
import { Dashboard } from './dashboard.ts';
import { DataTables } from './data-tables.ts';
import { Distribution } from './distribution.ts';
import { FileBucket } from './file-bucket.ts';
import { webAclArnOf } from './firewall-stack.ts';
import type { FunctionBundles } from './function-bundles.ts';
import { createProviderKey } from './provider-key.ts';
import { RestApi } from './rest-api.ts';
import { Rollout } from './rollout.ts';
import { type ObjectAction, ServiceFunction, type TableAction } from './service-function.ts';
import type { Settings, Stage } from './settings.ts';
import { UploadServer } from './upload-server.ts';
import { WebAccess } from './web-access.ts';
import { Webhooks } from './webhooks.ts';

type Other = Exclude<FunctionName, RouteName>;
type FunctionName = RouteName | BatchFunctionName | 'authorize-request' | 'prepare-attachment';

interface Access {
  table: readonly TableAction[];
  content?: readonly ObjectAction[];
  files?: readonly ObjectAction[];
  /** Makes links to the address that its caller asked for. */
  links?: true;
  /** Asks models of other providers, with the settings of a reply. */
  model?: true;
  replySettings?: true;
  batchSettings?: true;
  webhooks?: 'taken' | 'called';
  stageLimits?: true;
}

const batchReader = ['GetItem', 'BatchGetItem', 'Query'] as const;
const batchWriter = [...batchReader, 'PutItem', 'UpdateItem', 'ConditionCheckItem'] as const;

/** Who needs what. A transaction needs the permissions of the single actions in it. */
const access: Readonly<Record<FunctionName, Access>> = {
  'authorize-request': { table: ['GetItem', 'BatchGetItem'], stageLimits: true },
  'list-published-agents': { table: ['GetItem', 'BatchGetItem', 'Query'] },
  'create-chat': { table: ['GetItem', 'BatchGetItem', 'PutItem'] },
  'list-chats': { table: ['GetItem', 'BatchGetItem'], links: true },
  'list-messages': {
    table: ['GetItem', 'BatchGetItem', 'Query'],
    content: ['GetObject'],
    files: ['GetObject'],
    links: true,
  },
  'send-message': {
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem'],
    content: ['GetObject', 'PutObject', 'DeleteObject'],
    files: ['GetObject'],
    model: true,
  },
  'upload-file': {
    table: ['PutItem'],
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject', 'AbortMultipartUpload'],
  },
  'prepare-attachment': { table: ['GetItem'], content: ['PutObject'], files: ['GetObject'] },
  'record-feedback': { table: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'] },
  'create-batch': {
    table: ['GetItem', 'BatchGetItem', 'PutItem', 'BatchWriteItem'],
    replySettings: true,
    batchSettings: true,
    webhooks: 'taken',
  },
  'list-batches': { table: batchReader, links: true },
  'get-batch': { table: ['GetItem'] },
  'list-batch-results': { table: batchReader, content: ['GetObject'], links: true },
  'cancel-batch': { table: ['GetItem', 'UpdateItem'] },
  'process-batch-items': {
    table: batchWriter,
    content: ['GetObject', 'PutObject', 'DeleteObject'],
    files: ['GetObject'],
    model: true,
    batchSettings: true,
  },
  'fail-dead-letters': { table: batchWriter, replySettings: true },
  'dispatch-batch': { table: [...batchReader, 'UpdateItem'] },
  'advance-batch': { table: [...batchReader, 'PutItem', 'UpdateItem', 'DeleteItem'] },
  'fail-batch': { table: [...batchReader, 'PutItem', 'UpdateItem', 'DeleteItem'] },
  'deliver-webhook': {
    table: ['GetItem', 'BatchGetItem', 'PutItem', 'DeleteItem'],
    webhooks: 'called',
  },
  'reconcile-batches': { table: [...batchReader, 'UpdateItem'], replySettings: true },
};

/** Functions behind no route. */
const others: Readonly<
  Record<Other, { description: string; timeoutSeconds: number; memoryMegabytes?: number }>
> = {
  'authorize-request': {
    description: 'Checks the API key of every request',
    // One consistent read and a cold start; a client waits no longer to be told that its key is not known.
    timeoutSeconds: 10,
  },
  'prepare-attachment': {
    description: 'Reads an uploaded file for models',
    // Of 50 MB the slowest that we know take 60 s with a whole processor, which 1,769 MB are.
    timeoutSeconds: 60,
    memoryMegabytes: 2048,
  },
  'process-batch-items': {
    description: 'Answers requests of batches',
    timeoutSeconds: workerTimeoutSeconds,
  },
  'fail-dead-letters': {
    description: 'Ends requests of batches that the queue has given up',
    timeoutSeconds: 60,
  },
  'dispatch-batch': {
    description: 'Puts the requests of a batch into the queue, and notes down what wakes its workflow',
    timeoutSeconds: 120,
  },
  'advance-batch': {
    description: 'Looks what has become of a batch, and closes it at its end',
    timeoutSeconds: 60,
  },
  'fail-batch': { description: 'Ends a batch that cannot be carried through', timeoutSeconds: 60 },
  'deliver-webhook': {
    description: 'Calls the webhook of a batch that has ended',
    // The most that the setting lets a receiver take, and as much again for the table and the key.
    timeoutSeconds: 60,
  },
  'reconcile-batches': {
    description: 'Takes up what a crash has left lying of batches',
    // Less than the five minutes to its next run.
    timeoutSeconds: 240,
  },
};

export const functionNames = Object.keys(access) as readonly FunctionName[];

/** Functions that are HTTP servers. */
export const webFunctionNames = ['receive-uploads'] as const;

/** The whole service. A request travels gateway, authorizer, function, data and model; each is made after what it needs. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: { stage: Stage; bundles: FunctionBundles }) {
    const { settings, name: stageName } = props.stage;
    super(scope, id, {
      stackName: `agent-service-${stageName}`,
      description: 'Chats with published AI agents, and batches of messages to them',
      terminationProtection: settings.production,
    });
    const table = new DataTables(this, 'Tables', settings).data;
    const content = new ContentBucket(this, 'Content', settings);
    const files = new FileBucket(this, 'Files', settings);
    const openAiApiKey = createProviderKey(this, 'OpenAiApiKey', {
      description: 'The key for the address that speaks OpenAI chat completions',
      production: settings.production,
    });
    const webAccess = new WebAccess(this, 'WebAccess', settings);
    const webhooks = new Webhooks(this, 'Webhooks', settings);

    const stageLimits = formatLimits({ ...settings.rateLimits, openBatches: settings.openBatches });
    const originSecret = settings.largeUploads ? this.createOriginSecret() : undefined;

    let prepareAttachment: ServiceFunction | undefined;
    const preparer = (): ServiceFunction => {
      prepareAttachment ??= createFunction('prepare-attachment');
      return prepareAttachment;
    };
    const functions = new Map<FunctionName, ServiceFunction>();
    const createFunction = (name: FunctionName): ServiceFunction => {
      const handler = new ServiceFunction(this, pascalCase(name), {
        ...(name in routes
          ? { ...routes[name as RouteName], description: routes[name as RouteName].summary }
          : others[name as Other]),
        codeFolder: props.bundles.folderOf(name),
        settings,
      });
      functions.set(name, handler);
      const needs = access[name];
      handler.usesTable(table, needs.table);
      if (name in routes) handler.takesFromRateBuckets(table);
      if (needs.content !== undefined) handler.usesObjects(content, needs.content, variables.contentBucket);
      if (needs.files !== undefined) handler.usesObjects(files, needs.files, variables.fileBucket);
      if (needs.links && originSecret !== undefined)
        handler.readsSecret(originSecret, variables.originSecret);
      if (needs.model) {
        handler.invokesModels(settings.bedrockModels);
        handler.queriesKnowledgeBases(settings.bedrockKnowledgeBases);
        handler.readsSecret(openAiApiKey, variables.openAiApiKeySecret);
        handler.addEnvironment(variables.openAiBaseUrl, settings.openAiBaseUrl);
        webAccess.giveTo(handler);
        handler.invokes(preparer(), variables.prepareAttachmentFunction);
      }
      if (needs.model || needs.replySettings) {
        handler.addEnvironment(variables.streamTimeoutSeconds, String(settings.streamTimeoutSeconds));
        handler.addEnvironment(variables.leaseSeconds, String(settings.leaseSeconds));
        handler.addEnvironment(variables.plainReplySeconds, String(settings.plainReplySeconds));
        handler.addEnvironment(variables.historyCharacters, String(settings.historyCharacters));
        handler.addEnvironment(variables.attachedFiles, String(settings.attachedFiles));
      }
      if (needs.webhooks === 'taken') webhooks.areTakenBy(handler);
      if (needs.webhooks === 'called') webhooks.areCalledBy(handler);
      if (needs.batchSettings) {
        handler.addEnvironment(variables.batchTimeoutSeconds, String(settings.batchTimeoutSeconds));
        handler.addEnvironment(variables.batchItemSeconds, String(settings.batchItemSeconds));
      }
      if (needs.stageLimits) handler.addEnvironment(variables.stageLimits, stageLimits);
      return handler;
    };
    const workflow = new BatchWorkflow(this, 'Batches', { functionOf: createFunction, settings });
    const api = new RestApi(this, 'Api', {
      authorizer: createFunction('authorize-request'),
      handlerOf: (name) => {
        const handler = createFunction(name);
        if (name === 'create-batch') handler.starts(workflow.machine);
        if (name === 'cancel-batch') handler.wakes(workflow.machine);
        return handler;
      },
      // With a distribution, domain and firewall are its.
      domain: settings.largeUploads ? undefined : settings.domain,
      firewall: settings.largeUploads ? undefined : settings.firewall,
      settings,
    });

    const alarms = this.watch(settings, { functions, table, workflow, api });

    let baseAddress = api.baseAddress;
    if (originSecret !== undefined) {
      const codeFolder = props.bundles.folderOf('receive-uploads');
      const uploads = new UploadServer(this, 'Uploads', {
        codeFolder,
        table,
        files,
        originSecret,
        stageLimits,
        settings,
      });
      const distribution = new Distribution(this, 'Front', {
        apiDomainName: api.domainName,
        uploads: { domainName: uploads.domainName, path: api.basePath + routes['upload-file'].path },
        originSecret,
        domain: settings.domain,
        webAclArn: settings.firewall === undefined ? undefined : webAclArnOf(props.stage),
      });
      alarms.watchDistribution(distribution);
      baseAddress = `https://${distribution.domainName}${api.basePath}`;
    }

    new CfnOutput(this, 'BaseAddress', { value: baseAddress });
    new CfnOutput(this, 'AlarmTopicArn', { value: alarms.topic.topicArn });
    new CfnOutput(this, 'BatchWorkflowArn', { value: workflow.machine.stateMachineArn });
    new CfnOutput(this, 'DataTableName', { value: table.tableName });
    new CfnOutput(this, 'ContentBucketName', { value: content.bucketName });
    new CfnOutput(this, 'FileBucketName', { value: files.bucketName });
    new CfnOutput(this, 'OpenAiApiKeySecretArn', { value: openAiApiKey.secretArn });
    new CfnOutput(this, 'BedrockKnowledgeBases', { value: JSON.stringify(settings.bedrockKnowledgeBases) });
    new CfnOutput(this, 'BedrockModels', { value: JSON.stringify(settings.bedrockModels) });
    acknowledgeRegions(this, settings.bedrockModels);
    for (const bucket of ['ContentBucket', 'FileBucket'])
      Validations.of(this).acknowledge({
        id: `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/*]`,
        reason: 'Keys of objects are made at run time, and the bucket holds nothing but them.',
      });
  }

  /** Alarms, the dashboard, and new code that goes back when one of the alarms goes off. */
  private watch(
    settings: Settings,
    {
      functions,
      table,
      workflow,
      api,
    }: {
      functions: ReadonlyMap<FunctionName, ServiceFunction>;
      table: TableV2;
      workflow: BatchWorkflow;
      api: RestApi;
    },
  ): Alarms {
    const functionOf = (name: FunctionName): ServiceFunction => {
      const handler = functions.get(name);
      if (handler === undefined) throw new Error(`The function ${name} was not made`);
      return handler;
    };
    const alarms = new Alarms(this, 'Alarms', settings);
    const gatewayErrors = alarms.watchGateway(api);
    const rollout =
      settings.rollout === 'AllAtOnce' ? undefined : new Rollout(this, 'Rollout', settings.rollout);
    for (const [name, handler] of functions) {
      // What it throws for a key that is not known counts as its error; what fails in it, the gateway answers with 500.
      const own = name === 'authorize-request' ? [] : [alarms.watchFunction(handler)];
      rollout?.of(handler, [...own, gatewayErrors]);
    }
    alarms.watchConcurrency();
    alarms.watchTable(table);
    alarms.watchBatches(workflow, functionOf('reconcile-batches'));
    alarms.watchReplies();
    const { address } = new Dashboard(this, 'Dashboard', {
      api,
      table,
      batches: workflow,
      functions: [...functions.values()],
      answering: [functionOf('send-message'), functionOf('process-batch-items')],
    });
    new CfnOutput(this, 'DashboardAddress', { value: address });
    return alarms;
  }

  /** Known to the distribution and to whoever it calls. */
  private createOriginSecret(): Secret {
    const secret = new Secret(this, 'OriginSecret', {
      description: 'Sent by the distribution to its origins, so that they know it',
      generateSecretString: { passwordLength: 43, excludePunctuation: true },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'The distribution has its value from the deployment: one that changes in between would lock it out.',
    });
    return secret;
  }
}

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
