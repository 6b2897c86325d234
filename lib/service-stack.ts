import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Annotations, CfnOutput, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { formatLimits } from '#contract/rate-limits.ts';
import { routes } from '#contract/routes.ts';
import { variables } from '#runtime/environment/variables.ts';
import { Alarms } from './alarms.ts';
import { BatchWorkflow } from './batch-workflow.ts';
import { acknowledgeRegions } from './bedrock-models.ts';
import { expireLogsOfBucketEmptier } from './bucket-emptier.ts';
import { planConcurrency } from './concurrency.ts';
import { ContentBucket } from './content-bucket.ts';
import { Dashboard } from './dashboard.ts';
import { DataTables } from './data-tables.ts';
import { Distribution } from './distribution.ts';
import { FileBucket } from './file-bucket.ts';
import { webAclArnOf } from './firewall-stack.ts';
import type { FunctionBundles } from './function-bundles.ts';
import type { FunctionName } from './function-names.ts';
import { access, propertiesOf, updatedItemsOf } from './function-table.ts';
import { createProviderKey } from './provider-key.ts';
import { RestApi } from './rest-api.ts';
import { Rollout } from './rollout.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import type { Stage } from './stage.ts';
import { UploadServer } from './upload-server.ts';
import { WebAccess } from './web-access.ts';
import { Webhooks } from './webhooks.ts';

/** The stack with the distribution's alarm reads this output. */
export const distributionIdOutput = 'DistributionId';

/**
 * The whole service. Each part is created after the parts that it needs: data first, then functions, then the gateway.
 */
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

    const concurrency = planConcurrency(settings);
    if (concurrency.warning !== undefined)
      Annotations.of(this).addWarningV2('agent-service:nothing-reserved', concurrency.warning);
    const stageLimits = formatLimits({ ...settings.rateLimits, openBatches: settings.openBatches });
    const originSecret = settings.largeUploads ? this.createOriginSecret() : undefined;
    // With a distribution, its response headers policy sets the allowed origins.
    const corsOrigin = settings.largeUploads ? undefined : settings.corsOrigins[0];

    let prepareAttachment: ServiceFunction | undefined;
    const preparer = (): ServiceFunction => {
      prepareAttachment ??= createFunction('prepare-attachment');
      return prepareAttachment;
    };
    const functions = new Map<FunctionName, ServiceFunction>();
    const createFunction = (name: FunctionName): ServiceFunction => {
      const handler = new ServiceFunction(this, pascalCase(name), {
        ...propertiesOf(name),
        codeFolder: props.bundles.folderOf(name),
        reservedExecutions: concurrency.reserved.get(name),
        settings,
      });
      functions.set(name, handler);
      const needs = access[name];
      handler.usesTable(table, needs.table);
      const updated = updatedItemsOf(name);
      if (updated.length > 0) handler.updatesItems(table, updated);
      if (needs.content !== undefined) handler.usesObjects(content, needs.content, variables.contentBucket);
      if (needs.files !== undefined) handler.usesObjects(files, needs.files, variables.fileBucket);
      if (needs.links && originSecret !== undefined)
        handler.readsSecret(originSecret, variables.originSecret);
      if (needs.model) {
        handler.invokesModels(settings.bedrockModels);
        handler.queriesKnowledgeBases(settings.bedrockKnowledgeBases);
        handler.readsSecret(openAiApiKey, variables.openAiApiKeySecret);
        handler.addEnvironment(variables.openAiBaseUrl, settings.openAiBaseUrl);
        webAccess.passTo(handler);
        handler.invokes(preparer(), variables.prepareAttachmentFunction);
      }
      if (needs.model || needs.replySettings) {
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
      if (needs.usage) handler.addEnvironment(variables.usageDays, String(settings.usageDays));
      if (needs.webhooks === 'accepted') webhooks.areAcceptedBy(handler);
      if (needs.webhooks === 'called') webhooks.areCalledBy(handler);
      if (needs.batchSettings) {
        handler.addEnvironment(variables.batchTimeoutSeconds, String(settings.batchTimeoutSeconds));
        handler.addEnvironment(variables.batchItemSeconds, String(settings.batchItemSeconds));
      }
      if (needs.stageLimits) handler.addEnvironment(variables.stageLimits, stageLimits);
      return handler;
    };
    const workflow = new BatchWorkflow(this, 'Batches', {
      functionOf: createFunction,
      concurrency,
      settings,
    });
    const api = new RestApi(this, 'Api', {
      authorizer: createFunction('authorize-request'),
      handlerOf: (name) => {
        const handler = createFunction(name);
        if (name === 'create-batch') handler.starts(workflow.machine);
        if (name === 'cancel-batch') handler.completesCallbacksOf(workflow.machine);
        if (corsOrigin !== undefined) handler.addEnvironment(variables.corsOrigin, corsOrigin);
        return handler;
      },
      // With a distribution, that has the custom domain.
      domain: settings.largeUploads ? undefined : settings.domain,
      firewall: settings.firewall,
      originSecret,
      corsOrigin,
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
        corsOrigins: settings.corsOrigins,
        domain: settings.domain,
        webAclArn: settings.firewall === undefined ? undefined : webAclArnOf(props.stage),
      });
      alarms.watchDistribution(distribution.distributionId);
      alarms.watchUploads();
      new CfnOutput(this, distributionIdOutput, { value: distribution.distributionId });
      baseAddress = `https://${distribution.domainName}${api.basePath}`;
    }

    expireLogsOfBucketEmptier(this, settings);
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
        reason: 'Object keys are made at run time, and the bucket contains no other objects.',
      });
  }

  /** Creates the alarms, the dashboard, and the roll-out, which rolls back if an alarm goes off. */
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
      if (handler === undefined) throw new Error(`The function ${name} was not created`);
      return handler;
    };
    const alarms = new Alarms(this, 'Alarms', settings);
    const gatewayErrors = alarms.watchGateway(api);
    const rollout =
      settings.rollout === 'AllAtOnce' ? undefined : new Rollout(this, 'Rollout', settings.rollout);
    for (const [name, handler] of functions) {
      // The authorizer has no alarm: it throws for every unknown key, and Lambda counts that as an error. For its real
      // failures the gateway responds with 500, which the alarm for gateway errors counts.
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
      repliers: [functionOf('send-message'), functionOf('process-batch-items')],
    });
    new CfnOutput(this, 'DashboardAddress', { value: address });
    return alarms;
  }

  /** The secret that the distribution sends to its origins, and that they check. */
  private createOriginSecret(): Secret {
    const secret = new Secret(this, 'OriginSecret', {
      description: 'Authenticates the distribution to its origins',
      generateSecretString: { passwordLength: 43, excludePunctuation: true },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'The distribution gets the value at deployment: a rotation between deployments would lock it out.',
    });
    return secret;
  }
}

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
