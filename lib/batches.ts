import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { ArnFormat, type CfnElement, Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Agents } from './agents.ts';
import { fiveMinutes, sumOf } from './alarms.ts';
import { BatchWorkflow } from './batch-workflow.ts';
import { chatCreations, listed } from './chats.ts';
import { graph } from './dashboard.ts';
import { batchItemSeconds } from './limits.ts';
import {
  allOf,
  allow,
  completesCallbacksOf,
  gets,
  type Need,
  reads,
  sendsTo,
  starts,
  variable,
} from './needs.ts';
import { limited, type Platform } from './platform.ts';
import type { ServiceFunction } from './service-function.ts';
import { everyServiceMetric, serviceMetric } from './service-metric.ts';
import type { Uploads } from './uploads.ts';
import type { Webhooks } from './webhooks.ts';
import type { Writes } from './written-items.ts';

/**
 * Lambda's longest timeout. A worker takes requests for up to five minutes; the rest is for its last replies and for
 * outages.
 */
const workerTimeoutSeconds = 900;

/**
 * The share of the batch workers for one workspace. Each open batch may have a slot, so many open batches may use more.
 */
const workspaceShare = 0.75;

/** AWS recommends six times the function's timeout. */
const visibilitySeconds = 6 * workerTimeoutSeconds;

/** The lowest maximum age of an event. A run that cannot start within it is dropped, and the next one does its work. */
const startsWithin = Duration.seconds(60);

const batchEnds: Writes = {
  PutItem: ['batches', 'batchLists', 'chats', 'operatorsWebhooks'],
  UpdateItem: ['batches', 'batchLists', 'chats'],
  DeleteItem: ['batchLists', 'operatorsOpenBatches'],
};

const ofWork = { group: 'BatchWork', throttlesUnseen: true } as const;

interface Parts {
  agents: Agents;
  uploads: Uploads;
  webhooks: Webhooks;
}

export class Batches extends Construct {
  readonly queue: Queue;
  readonly machine: StateMachine;
  readonly reconciler: ServiceFunction;

  constructor(scope: Construct, id: string, platform: Platform, parts: Parts) {
    super(scope, id);
    const { settings } = platform;
    this.queue = this.createQueue();
    const slots = Math.max(Math.floor(workspaceShare * platform.concurrency.batchWorkers), 1);
    const offer = allOf(
      sendsTo(this.queue, 'batchQueueUrl'),
      variable('batchWorkspaceSlots', slots),
      variable('requestsPerWorker', settings.requestsPerWorker),
    );
    const tasks = this.createTasks(platform, offer);
    const { deliverer } = parts.webhooks;
    this.machine = new BatchWorkflow(this, 'Default', { ...tasks, deliverer, settings }).machine;
    this.letDispatcherComplete(tasks.dispatcher);
    this.createWorker(platform, offer, parts);
    this.reconciler = this.createReconciler(platform, offer, parts.agents);
    this.createRoutes(platform, parts);
    this.watch(platform);
  }

  /**
   * There is no dead-letter queue, because a message only offers a slot: the reconciler sends the messages of silent
   * slots again.
   */
  private createQueue(): Queue {
    const queue = new Queue(this, 'Requests', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      visibilityTimeout: Duration.seconds(visibilitySeconds),
    });
    Validations.of(queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'A worker deletes every message. The reconciler replaces those that are lost.',
    });
    return queue;
  }

  private createTasks(platform: Platform, offer: Need) {
    return {
      dispatcher: platform.task(
        'dispatch-batch',
        {
          ...ofWork,
          description:
            'Makes the slots of a batch, sends their messages, and stores the task token of its workflow',
          timeoutSeconds: 120,
        },
        platform.data(['GetItem'], { PutItem: ['batches'], UpdateItem: ['batches'] }),
        offer,
      ),
      advancer: platform.task(
        'advance-batch',
        {
          description: 'Checks the state of a batch, and ends it after its last request',
          timeoutSeconds: 60,
          ...ofWork,
        },
        platform.data(reads, batchEnds),
        offer,
      ),
      failer: platform.task(
        'fail-batch',
        { description: 'Fails a batch that cannot be completed', timeoutSeconds: 60, ...ofWork },
        platform.data(reads, batchEnds),
      ),
    };
  }

  /**
   * The statement is in a separate policy: in the role's own policy, it would make a circle of dependencies with the
   * machine.
   */
  private letDispatcherComplete({ role }: ServiceFunction): void {
    const resources = [this.machine.stateMachineArn];
    const statement = new PolicyStatement({ actions: ['states:SendTaskSuccess'], resources });
    new Policy(this, 'DispatcherWakes', {
      ...(role !== undefined && { roles: [role] }),
      statements: [statement],
    });
  }

  private createWorker(platform: Platform, offer: Need, { agents, uploads }: Parts): void {
    const worker = platform.task(
      'process-batch-items',
      {
        description: 'Processes the requests of batches',
        timeoutSeconds: workerTimeoutSeconds,
        ...ofWork,
      },
      platform.data(reads, {
        PutItem: ['batches', ...chatCreations.PutItem, 'slotReports'],
        UpdateItem: ['batches', 'chats', ...chatCreations.UpdateItem, 'files', 'rateBuckets', 'usage'],
        DeleteItem: ['chats', 'files'],
      }),
      platform.content('GetObject', 'ListBucket', 'PutObject', 'DeleteObject'),
      agents.reply,
      uploads.attach,
      this.lasts(platform),
      platform.pools,
      platform.usage,
      platform.stageLimits,
      offer,
      this.resumes(),
    );
    this.acknowledgeExecutions(worker);
    // Also lets workers read the number of messages in the queue.
    worker.receivesFrom(this.queue, { batchSize: 1, maxConcurrency: platform.concurrency.batchWorkers });
  }

  private createReconciler(platform: Platform, offer: Need, { replyLimits }: Agents): ServiceFunction {
    const reconciler = platform.task(
      'reconcile-batches',
      {
        description: 'Resumes batches and webhooks that crashes and outages have interrupted',
        // A run starts no check after 45 s, and the next run starts after a minute.
        timeoutSeconds: 60,
        ...ofWork,
      },
      platform.data(reads, {
        PutItem: ['operatorsWebhooks'],
        UpdateItem: ['batches', 'operatorsPurges'],
        DeleteItem: ['operatorsOpenBatches', 'operatorsWebhooks'],
      }),
      replyLimits,
      offer,
      this.resumes(),
    );
    this.acknowledgeExecutions(reconciler);
    reconciler.runsEvery(Duration.minutes(1), {
      ...{ scope: this, id: 'Reconciliation', maxEventAge: startsWithin },
      description: 'Runs the reconciler, which resumes work that crashes and outages have interrupted',
    });
    return reconciler;
  }

  private resumes(): Need {
    const executions = Stack.of(this).formatArn({
      service: 'states',
      resource: 'execution',
      resourceName: `${this.machine.stateMachineName}:*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    return allOf(
      completesCallbacksOf(this.machine),
      starts(this.machine),
      allow(['states:DescribeExecution'], executions),
    );
  }

  private acknowledgeExecutions(handler: ServiceFunction): void {
    const machineId = Stack.of(this).getLogicalId(this.machine.node.defaultChild as CfnElement);
    Validations.of(handler.role ?? handler).acknowledge({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<${machineId}.Name>:*]`,
      reason: 'Executions are named when they start; these are the executions of one machine.',
    });
  }

  private createRoutes(platform: Platform, { agents, webhooks }: Parts): void {
    const route = platform.routes('BatchRoute');
    const { checksOrigin } = platform.trust;
    route(
      'create-batch',
      platform.data(gets, {
        PutItem: ['batches', 'batchLists', 'idempotencyRecords', 'operatorsBatches', 'operatorsOpenBatches'],
        UpdateItem: ['batchLists', 'lastNumbers', 'rateBuckets'],
        BatchWriteItem: ['batches', 'chats', 'users'],
      }),
      agents.replyLimits,
      this.lasts(platform),
      webhooks.accept,
      starts(this.machine),
    );
    route('list-batches', platform.data(reads, listed), checksOrigin, platform.pools);
    route('get-batch', platform.data(reads, limited));
    route(
      'list-batch-results',
      platform.data(reads, listed),
      platform.content('GetObject'),
      checksOrigin,
      platform.pools,
    );
    route(
      'cancel-batch',
      platform.data(reads, { UpdateItem: ['batches', 'rateBuckets'] }),
      completesCallbacksOf(this.machine),
    );
  }

  private lasts({ settings }: Platform): Need {
    return allOf(
      variable('batchTimeoutSeconds', settings.batchTimeoutSeconds),
      variable('batchItemSeconds', batchItemSeconds),
    );
  }

  private watch({ alarms, settings }: Platform): void {
    const sums = { statistic: 'Sum' };
    const maxima = { statistic: 'Maximum' };
    alarms.add('RequestsWait', {
      summary: 'A request of a batch has waited for a worker for a quarter of the batch timeout.',
      // The metric is not the age of the queue's oldest message, because a message only offers a slot.
      metric: serviceMetric(this, 'oldestRequestWait', {}, maxima),
      threshold: Math.ceil(settings.batchTimeoutSeconds / 4),
    });
    alarms.add('ExecutionsFailed', {
      summary: 'Executions of the batch workflow have failed or timed out.',
      metric: sumOf({ failed: this.machine.metricFailed(sums), expired: this.machine.metricTimedOut(sums) }),
      threshold: 1,
    });
    alarms.add('BatchesOverdue', {
      summary: 'Batches are still open 15 minutes after they expired.',
      metric: serviceMetric(this, 'overdueBatches', {}, maxima),
      threshold: 1,
      periods: [2, 2],
    });
    alarms.addForSchedule('ReconcilerSilent', {
      summary:
        'The reconciler, which resumes work that crashes have interrupted, has not run successfully for 15 minutes.',
      handler: this.reconciler,
      queue: this.queue,
      period: fiveMinutes,
    });
  }

  graphs = () => [
    graph('Requests of batches', {
      left: [
        serviceMetric(this, 'batchRequestsDone', {}, { label: 'done' }),
        serviceMetric(this, 'batchRequestsFailed', {}, { label: 'failed' }),
        serviceMetric(this, 'batchRequestsDelayed', {}, { label: 'delayed' }),
      ],
      right: [this.queue.metricApproximateNumberOfMessagesVisible({ label: 'in the queue' })],
    }),
    graph('Age of batches at their end, s', {
      left: [everyServiceMetric(this, 'batchAge', 'status', { statistic: 'p95' })],
      right: [serviceMetric(this, 'overdueBatches', {}, { statistic: 'Maximum', label: 'overdue' })],
    }),
    graph('Waiting and failed work', {
      left: [
        serviceMetric(this, 'oldestRequestWait', {}, { statistic: 'Maximum', label: 'oldest request, s' }),
      ],
      right: [this.machine.metricFailed({ label: 'failed executions' })],
    }),
  ];
}
