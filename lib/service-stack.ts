import { CfnOutput, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { Agents } from './agents.ts';
import { Batches } from './batches.ts';
import type { FunctionBundles } from './bundles/function-bundles.ts';
import { Chats } from './chats.ts';
import { Dashboard } from './dashboard.ts';
import { Distribution } from './distribution.ts';
import { Erasure } from './erasure.ts';
import { watchFunctions } from './function-alarms.ts';
import { OpenAiDoor } from './openai-door.ts';
import { Platform } from './platform.ts';
import { graphsOfWebServers, watchWebServers } from './request-alarms.ts';
import { RestApi } from './rest-api.ts';
import { expireLogsOfBucketEmptier } from './retention.ts';
import type { Stage } from './stage.ts';
import { Uploads } from './uploads.ts';
import { Webhooks } from './webhooks.ts';

export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, { stage, bundles }: { stage: Stage; bundles: FunctionBundles }) {
    const { settings } = stage;
    super(scope, id, {
      stackName: `agent-service-${stage.name}`,
      description: 'Chats with published AI agents, and batches of messages to them',
      terminationProtection: settings.production,
    });
    // CDK repeats references to roles and to revisions of web functions as DependsOn, which does no harm.
    this.templateOptions.metadata = { 'cfn-lint': { config: { ignore_checks: ['W3005'] } } };

    const platform = new Platform(this, settings, bundles);
    const agents = new Agents(this, 'Agents', platform);
    const uploads = new Uploads(this, 'Uploads', platform);
    const webhooks = new Webhooks(this, 'Webhooks', platform);
    const batches = new Batches(this, 'Batches', platform, { agents, uploads, webhooks });
    new Erasure(this, 'Purge', platform, { reconciler: batches.reconciler });
    const chats = new Chats(this, 'Chats', platform, { agents, uploads });
    new OpenAiDoor(this, 'OpenAiDoor', platform, { agents });
    const api = new RestApi(
      this,
      'Api',
      platform,
      settings.webFunctions === 'all' ? chats.server : undefined,
    );
    const front =
      uploads.server && new Distribution(this, 'Front', platform, { stage, api, uploads: uploads.server });

    watchFunctions(platform, api.errors);
    const webServers = [chats.server, uploads.server].filter((server) => server !== undefined);
    if (webServers.length > 0)
      watchWebServers(platform.alarms, webServers, { areReplying: settings.webFunctions === 'all' });
    const logsOfReplies = (['send-message', 'complete-chat', 'process-batch-items'] as const)
      .map((name) => platform.functions.get(name)?.logGroup)
      .concat(chats.server?.logGroup)
      .filter((logGroup) => logGroup !== undefined);
    new Dashboard(this, 'Dashboard', platform, {
      lines: [
        [...api.graphs(), ...chats.graphs()],
        webServers.length > 0 ? graphsOfWebServers(this, webServers) : [],
        agents.graphs(logsOfReplies),
        [...batches.graphs(), ...webhooks.graphs()],
      ],
      queue: batches.queue,
    });

    expireLogsOfBucketEmptier(this, settings);
    new CfnOutput(this, 'BaseAddress', { value: front?.baseAddress ?? api.baseAddress });
    new CfnOutput(this, 'BatchWorkflowArn', { value: batches.machine.stateMachineArn });
    new CfnOutput(this, 'DataTableName', { value: platform.table.tableName });
    new CfnOutput(this, 'ContentBucketName', { value: platform.contentBucket.bucketName });
    new CfnOutput(this, 'FileBucketName', { value: platform.fileBucket.bucketName });
  }
}
