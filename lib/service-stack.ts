import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Annotations, CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { routes } from '#contract/routes.ts';
import { variables } from '#runtime/environment/variables.ts';
import { watchBatches } from './alarms/watch-batches.ts';
import { watchPurges, watchTable, watchUnusedChats } from './alarms/watch-data.ts';
import { watchConcurrency, watchFunctions } from './alarms/watch-functions.ts';
import { watchReplies } from './alarms/watch-replies.ts';
import {
  watchDistribution,
  watchGateway,
  watchKeys,
  watchThrottledRequests,
  watchWebServers,
} from './alarms/watch-requests.ts';
import { Alarms } from './alarms.ts';
import { BatchWorkflow } from './batch-workflow.ts';
import { acknowledgeRegions } from './bedrock-models.ts';
import { expireLogsOfBucketEmptier } from './bucket-emptier.ts';
import type { FunctionBundles } from './bundles/function-bundles.ts';
import { ChatPurge } from './chat-purge.ts';
import { type ConcurrencyPlan, planConcurrency, uploadsPerEnvironment } from './concurrency.ts';
import { ContentBucket } from './content-bucket.ts';
import { Dashboard } from './dashboard.ts';
import { DataTables } from './data-tables.ts';
import { Distribution } from './distribution.ts';
import { FileBucket } from './file-bucket.ts';
import { webAclArnOf } from './firewall-stack.ts';
import { chatRoutes, entryPointsOfChats } from './function-table.ts';
import { createProviderKey } from './provider-key.ts';
import { RestApi } from './rest-api.ts';
import { Rollout } from './rollout.ts';
import { type Resources, ServiceFunctions } from './service-functions.ts';
import type { Settings } from './settings.ts';
import { createCallerSecret, createOriginSecrets } from './stack-secrets.ts';
import type { Stage } from './stage.ts';
import { UnusedChats } from './unused-chats.ts';
import { WebAccess } from './web-access.ts';
import { WebServer } from './web-server.ts';
import { Webhooks } from './webhooks.ts';

/** The stack with the distribution's alarm reads this output. */
export const distributionIdOutput = 'DistributionId';

interface StackProps {
  stage: Stage;
  bundles: FunctionBundles;
}

/** The web functions. */
interface WebServers {
  /** Undefined if Lambda functions serve its routes. */
  chats: WebServer | undefined;
  uploads: WebServer;
}

/**
 * The whole service. Each part is created after the parts that it needs: data first, then functions, then the gateway.
 */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps) {
    const { settings, name: stageName } = props.stage;
    super(scope, id, {
      stackName: `agent-service-${stageName}`,
      description: 'Chats with published AI agents, and batches of messages to them',
      terminationProtection: settings.production,
    });
    // The library repeats references to roles and revisions as DependsOn, which does no harm.
    this.templateOptions.metadata = { 'cfn-lint': { config: { ignore_checks: ['W3005'] } } };
    const resources = this.createResources(settings);
    if (props.stage.warning !== undefined)
      Annotations.of(this).addWarningV2('agent-service:former-settings', props.stage.warning);
    const concurrency = planConcurrency(settings);
    if (concurrency.warning !== undefined)
      Annotations.of(this).addWarningV2('agent-service:nothing-reserved', concurrency.warning);
    const functions = new ServiceFunctions(this, {
      bundles: props.bundles,
      concurrency,
      resources,
      settings,
    });
    const workflow = new BatchWorkflow(this, 'Batches', {
      functionOf: (name) => functions.create(name),
      concurrency,
      settings,
    });
    const purge = new ChatPurge(this, 'Purge', {
      purger: functions.create('purge-chat'),
      reconciler: functions.get('reconcile-batches'),
      concurrency,
    });
    const tester = functions.create('test-agent');
    new UnusedChats(this, 'UnusedChats', { handler: functions.create('delete-unused-chats'), purge });
    const servers = this.createWebServers(props, functions);
    const api = this.createApi(settings, { functions, workflow, purge, resources, servers });
    const alarms = this.watch(settings, {
      ...{ concurrency, functions, table: resources.table, workflow, purge, api, servers },
    });
    const baseAddress =
      this.createDistribution(props.stage, { servers, resources, api, alarms }) ?? api.baseAddress;

    expireLogsOfBucketEmptier(this, settings);
    new CfnOutput(this, 'BaseAddress', { value: baseAddress });
    new CfnOutput(this, 'AlarmTopicArn', { value: alarms.topic.topicArn });
    new CfnOutput(this, 'BatchWorkflowArn', { value: workflow.machine.stateMachineArn });
    new CfnOutput(this, 'DataTableName', { value: resources.table.tableName });
    new CfnOutput(this, 'ContentBucketName', { value: resources.content.bucketName });
    new CfnOutput(this, 'FileBucketName', { value: resources.files.bucketName });
    new CfnOutput(this, 'TestAgentFunctionArn', { value: tester.alias.functionArn });
    new CfnOutput(this, 'OpenAiApiKeySecretArn', { value: resources.openAiApiKey.secretArn });
    new CfnOutput(this, 'BedrockKnowledgeBases', { value: JSON.stringify(settings.bedrockKnowledgeBases) });
    new CfnOutput(this, 'BedrockModels', { value: JSON.stringify(settings.bedrockModels) });
    acknowledgeRegions(this, settings.bedrockModels);
    for (const bucket of ['ContentBucket', 'FileBucket'])
      Validations.of(this).acknowledge({
        id: `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/*]`,
        reason: 'Object keys are made at run time, and the bucket contains no other objects.',
      });
  }

  /** What functions read and write, and the keys that they use. */
  private createResources(settings: Settings): Resources {
    return {
      table: new DataTables(this, 'Tables', settings).data,
      content: new ContentBucket(this, 'Content', settings),
      files: new FileBucket(this, 'Files', settings),
      openAiApiKey: createProviderKey(this, 'OpenAiApiKey', {
        description: 'The key for the address that speaks OpenAI chat completions',
        production: settings.production,
      }),
      webAccess: new WebAccess(this, 'WebAccess', settings),
      webhooks: new Webhooks(this, 'Webhooks', settings),
      ...this.createSecrets(settings),
    };
  }

  private createApi(
    settings: Settings,
    {
      functions,
      workflow,
      purge,
      resources: { originSecrets },
      servers,
    }: {
      functions: ServiceFunctions;
      workflow: BatchWorkflow;
      purge: ChatPurge;
      resources: Resources;
      servers: WebServers | undefined;
    },
  ): RestApi {
    // With a distribution, its response headers policy sets the allowed origins.
    const corsOrigin = originSecrets === undefined ? settings.corsOrigins[0] : undefined;
    const webServer = settings.webFunctions === 'all' ? servers?.chats : undefined;
    if (entryPointsOfChats(settings).functions) for (const name of chatRoutes) functions.create(name);
    return new RestApi(this, 'Api', {
      authorizer: functions.create('authorize-request'),
      handlerOf: (name) => {
        const handler = functions.created.get(name) ?? functions.create(name);
        if (name === 'create-batch') handler.starts(workflow.machine);
        if (name === 'cancel-batch') handler.completesCallbacksOf(workflow.machine);
        if (name === 'delete-chat' || name === 'erase-user') purge.isFilledBy(handler);
        if (corsOrigin !== undefined) handler.addEnvironment(variables.corsOrigin, corsOrigin);
        return handler;
      },
      webServer,
      // If there is a distribution, it has the custom domain.
      domain: originSecrets === undefined ? settings.domain : undefined,
      firewall: settings.firewall,
      originSecrets,
      corsOrigin,
      settings,
    });
  }

  /** Creates the servers of uploads and of `chatRoutes`. */
  private createWebServers(
    { stage: { settings }, bundles }: StackProps,
    functions: ServiceFunctions,
  ): WebServers | undefined {
    if (settings.webFunctions === 'none') return undefined;
    const chats = entryPointsOfChats(settings).webFunction
      ? new WebServer(this, 'Chats', {
          codeFolder: bundles.folderOf('serve-chats'),
          name: 'chats',
          logsId: 'ServeChatsLogs',
          grant: (grants) => functions.grantWeb(grants, 'serve-chats'),
          // Each route ends its own requests earlier.
          timeout: Duration.seconds(Math.max(...chatRoutes.map((name) => routes[name].timeoutSeconds))),
          requestsPerEnvironment: settings.requestsPerEnvironment,
          publicReason: 'Every request must have a caller that the authorizer has signed.',
          settings,
        })
      : undefined;
    const uploads = new WebServer(this, 'Uploads', {
      codeFolder: bundles.folderOf('receive-uploads'),
      name: 'uploads',
      logsId: 'ReceiveUploadsLogs',
      grant: (grants) => {
        functions.grantWeb(grants, 'receive-uploads');
        if (settings.corsOrigins.length > 0) grants.setVariable(variables.handlesPreflights, 'true');
      },
      // The maximum of a web function. A file of 50 MB arrives in time at half a megabit a second.
      timeout: Duration.minutes(15),
      requestsPerEnvironment: uploadsPerEnvironment(settings),
      publicReason: "Every caller must send the origin's secret and an API key.",
      settings,
    });
    return { chats, uploads };
  }

  /** Creates the alarms, the dashboard, and the roll-out, which rolls back if an alarm goes off. */
  private watch(
    settings: Settings,
    {
      concurrency,
      functions,
      table,
      workflow,
      purge,
      api,
      servers,
    }: {
      concurrency: ConcurrencyPlan;
      functions: ServiceFunctions;
      table: ITableV2;
      workflow: BatchWorkflow;
      purge: ChatPurge;
      api: RestApi;
      servers: WebServers | undefined;
    },
  ): Alarms {
    const alarms = new Alarms(this, 'Alarms', settings);
    const gatewayErrors = watchGateway(alarms, api);
    const functionErrors = watchFunctions(alarms, functions.created);
    if (settings.rollout !== 'AllAtOnce') {
      const rollout = new Rollout(this, 'Rollout', settings.rollout);
      for (const [name, handler] of functions.created) {
        const own = functionErrors.get(name);
        rollout.of(handler, own === undefined ? [gatewayErrors] : [own, gatewayErrors]);
      }
    }
    watchConcurrency(alarms, functions.created, { ...settings, plan: concurrency });
    watchThrottledRequests(alarms, api);
    watchKeys(alarms);
    watchTable(alarms, table);
    watchBatches(alarms, workflow, { ...settings, reconciler: functions.get('reconcile-batches') });
    watchPurges(alarms);
    watchUnusedChats(alarms, functions.get('delete-unused-chats'), purge);
    watchReplies(alarms, settings);
    const webServers = Object.values({ ...servers }).filter((server) => server instanceof WebServer);
    if (webServers.length > 0)
      watchWebServers(alarms, webServers, { areReplying: settings.webFunctions === 'all' });
    const { address } = new Dashboard(this, 'Dashboard', {
      api,
      table,
      batches: workflow,
      functions: [...functions.created.values()],
      webServers,
      replyLogs: [
        functions.created.get('send-message'),
        functions.created.get('complete-chat'),
        functions.get('process-batch-items'),
        servers?.chats,
      ].flatMap((server) => server?.logGroup ?? []),
    });
    new CfnOutput(this, 'DashboardAddress', { value: address });
    return alarms;
  }

  /**
   * Creates the distribution in front of the gateway and of uploads.
   * @returns its base address; undefined without web functions
   */
  private createDistribution(
    stage: Stage,
    {
      servers,
      resources: { originSecrets },
      api,
      alarms,
    }: { servers: WebServers | undefined; resources: Resources; api: RestApi; alarms: Alarms },
  ): string | undefined {
    if (originSecrets === undefined || servers === undefined) return undefined;
    const { settings } = stage;
    const distribution = new Distribution(this, 'Front', {
      apiDomainName: api.domainName,
      uploads: { domainName: servers.uploads.domainName, path: api.basePath + routes['upload-file'].path },
      originSecret: originSecrets.sent,
      corsOrigins: settings.corsOrigins,
      domain: settings.domain,
      webAclArn: settings.firewall === undefined ? undefined : webAclArnOf(stage),
    });
    watchDistribution(alarms, distribution.distributionId);
    new CfnOutput(this, distributionIdOutput, { value: distribution.distributionId });
    return `https://${distribution.domainName}${api.basePath}`;
  }

  /** The secrets by which the parts of a stage with web functions trust each other. */
  private createSecrets(settings: Settings): Pick<Resources, 'originSecrets' | 'callerSecret'> {
    const originSecrets =
      settings.webFunctions === 'none'
        ? undefined
        : createOriginSecrets(this, settings.originSecretGeneration);
    if (!entryPointsOfChats(settings).webFunction) return { originSecrets, callerSecret: undefined };
    const callerSecret = createCallerSecret(this);
    new CfnOutput(this, 'CallerSecretArn', { value: callerSecret.secretArn });
    new CfnOutput(this, 'AuthorizerCacheSeconds', { value: String(settings.authorizerCacheSeconds) });
    return { originSecrets, callerSecret };
  }
}
