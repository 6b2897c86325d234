import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import {
  Choice,
  Condition,
  DefinitionBody,
  Fail,
  type IChainable,
  IntegrationPattern,
  JitterType,
  JsonPath,
  LogLevel,
  StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Aws, type CfnElement, Duration, Fn, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { serviceUnavailable, variables } from '#runtime/environment/variables.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import type { BatchFunctionName } from './function-names.ts';
import { workerTimeoutSeconds } from './function-table.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

/** Lambda asks for six times the function's time, so that what is being done is never delivered again. */
const visibilitySeconds = 6 * workerTimeoutSeconds;
/** A request is put back by a new message; only crashes bring a message back, and ten are no accident. */
const deliveriesAtMost = 10;

/** A run of the reconciler that cannot begin within the minute is dropped. 60 s are the least that both services take. */
const onlyNow = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

/** How a batch is carried: a queue of its requests with its workers, and a state machine that waits for their end. */
export class BatchWorkflow extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly machine: StateMachine;

  constructor(
    scope: Construct,
    id: string,
    props: {
      functionOf: (name: BatchFunctionName) => ServiceFunction;
      concurrency: ConcurrencyPlan;
      settings: Settings;
    },
  ) {
    super(scope, id);
    const { functionOf, concurrency, settings } = props;
    this.deadLetters = this.createQueue('DeadLetters');
    this.queue = this.createQueue('Requests', this.deadLetters);
    const worker = functionOf('process-batch-items');
    const deadLetterHandler = functionOf('fail-dead-letters');
    const dispatcher = functionOf('dispatch-batch');
    const reconciler = functionOf('reconcile-batches');
    const slots = Math.max(Math.floor(settings.batchWorkspaceShare * concurrency.batchWorkers), 1);
    for (const handler of [worker, deadLetterHandler, dispatcher, reconciler]) {
      handler.sendsTo(this.queue);
      handler.addEnvironment(variables.batchWorkspaceSlots, String(slots));
    }
    reconciler.readsDepthOf(this.queue);
    // With more, how many workers a workspace holds would hang on how its messages come together.
    worker.receivesFrom(this.queue, { batchSize: 1, maxConcurrency: concurrency.batchWorkers });
    deadLetterHandler.receivesFrom(this.deadLetters, {
      batchSize: 10,
      maxConcurrency: concurrency.deadLetterHandlers,
    });

    this.machine = this.createMachine(
      {
        dispatcher,
        advancer: functionOf('advance-batch'),
        failer: functionOf('fail-batch'),
        deliverer: functionOf('deliver-webhook'),
      },
      settings,
    );
    for (const handler of [worker, deadLetterHandler, reconciler]) handler.completesCallbacksOf(this.machine);
    reconciler.starts(this.machine);
    reconciler.readsExecutionsOf(this.machine);
    Validations.of(reconciler.role ?? reconciler).acknowledge({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<${logicalIdOf(this.machine)}.Name>:*]`,
      reason: 'Executions are named when they start; these are the executions of one machine.',
    });
    // A part of its role's policy would be made before the machine, which is made after the function.
    new Policy(this, 'DispatcherWakes', {
      ...(dispatcher.role !== undefined && { roles: [dispatcher.role] }),
      statements: [
        new PolicyStatement({
          actions: ['states:SendTaskSuccess'],
          resources: [this.machine.stateMachineArn],
        }),
      ],
    });
    new Rule(this, 'Reconciliation', {
      description: 'Takes up what crashes and outages have left',
      // With a lease of 30 s, requests of a dead worker are requeued within two minutes. A run costs two reads when no
      // batch is open and every webhook is delivered.
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [
        new LambdaFunction(reconciler.alias, {
          event: RuleTargetInput.fromObject({}),
          // The next minute's run does what a lost one would have done.
          ...onlyNow,
        }),
      ],
    });
    // Lambda retries an asynchronous call by itself, twice and for six hours, unless it is told otherwise.
    reconciler.alias.configureAsyncInvoke({
      retryAttempts: onlyNow.retryAttempts,
      maxEventAge: onlyNow.maxEventAge,
    });
  }

  private createQueue(id: string, deadLetters?: Queue): Queue {
    return new Queue(this, id, {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      visibilityTimeout: Duration.seconds(visibilitySeconds),
      ...(deadLetters !== undefined && {
        deadLetterQueue: { queue: deadLetters, maxReceiveCount: deliveriesAtMost },
      }),
    });
  }

  private createMachine(
    functions: Record<'dispatcher' | 'advancer' | 'failer' | 'deliverer', ServiceFunction>,
    settings: Settings,
  ): StateMachine {
    const ended = this.createDelivery(functions.deliverer);
    const abort = new LambdaInvoke(this, 'Fail what is left of the batch', {
      lambdaFunction: functions.failer.aliasByName,
      payload: this.names(),
      resultSelector: { 'webhook.$': '$.Payload.webhook' },
      resultPath: '$.look',
    });
    retry(abort);
    abort.next(ended);
    const outage = new Fail(this, 'Leave the batch to the reconciler', {
      error: serviceUnavailable,
      cause: 'A service was throttled or unavailable for hours',
    });
    /** Only an error that no attempt can mend fails a batch. */
    const failBatchOnError = (state: LambdaInvoke): void => {
      retry(state);
      state.addCatch(outage, { errors: transientErrors, resultPath: JsonPath.DISCARD });
      state.addCatch(abort, { resultPath: '$.error' });
    };
    const check = new LambdaInvoke(this, 'See what has become of the batch', {
      lambdaFunction: functions.advancer.aliasByName,
      payload: this.names(),
      resultSelector: { 'stage.$': '$.Payload.stage', 'webhook.$': '$.Payload.webhook' },
      resultPath: '$.look',
    });
    const wait = (name: string, seconds: number): LambdaInvoke =>
      new LambdaInvoke(this, name, {
        lambdaFunction: functions.dispatcher.aliasByName,
        integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
        payload: this.names({ taskToken: JsonPath.taskToken }),
        // The backstop of the batch's own expiry, or of a worker's wake: whoever waits looks again.
        taskTimeout: Timeout.duration(Duration.seconds(seconds)),
        resultPath: JsonPath.DISCARD,
      });
    // Workers wake it as they end; what a worker has left behind, its lease gives up, and ten seconds are for the clocks.
    const finishSeconds = settings.leaseSeconds + 10;
    const waits = [
      wait('Send the requests to the queue and wait for the last one', settings.batchTimeoutSeconds),
      wait('Wait for the requests that are left', settings.batchTimeoutSeconds),
      wait('Wait for the requests in work', finishSeconds),
    ] as const;
    for (const state of waits) {
      state.addCatch(check, { errors: ['States.Timeout'], resultPath: JsonPath.DISCARD });
      failBatchOnError(state);
      state.next(check);
    }
    failBatchOnError(check);
    check.next(
      new Choice(this, 'Is the batch over?')
        .when(Condition.stringEquals('$.look.stage', 'wait'), waits[1])
        .when(Condition.stringEquals('$.look.stage', 'finish'), waits[2])
        .otherwise(ended),
    );
    return this.defineMachine(waits[0], settings);
  }

  /** What is behind the end of a batch. The function says how long to wait for its next attempt, if there is one. */
  private createDelivery(deliverer: ServiceFunction): IChainable {
    const ended = new Succeed(this, 'The batch is over');
    const deliver = new LambdaInvoke(this, 'Deliver the webhook', {
      lambdaFunction: deliverer.aliasByName,
      payload: this.names(),
      resultSelector: { 'state.$': '$.Payload.state', 'seconds.$': '$.Payload.seconds' },
      resultPath: '$.delivery',
    });
    // The execution of what goes on failing fails, and the reconciler starts another.
    retry(deliver);
    const wait = new Wait(this, 'Wait for the time of the next attempt', {
      time: WaitTime.secondsPath('$.delivery.seconds'),
    });
    deliver.next(
      new Choice(this, 'Is the webhook settled?')
        .when(Condition.stringEquals('$.delivery.state', 'waiting'), wait.next(deliver))
        .otherwise(ended),
    );
    return new Choice(this, 'Is a webhook wanted?')
      .when(Condition.booleanEquals('$.look.webhook', true), deliver)
      .otherwise(ended);
  }

  private names(more: Record<string, string> = {}): TaskInput {
    return TaskInput.fromObject({
      workspaceId: JsonPath.stringAt('$.workspaceId'),
      batchId: JsonPath.stringAt('$.batchId'),
      ...more,
    });
  }

  private defineMachine(first: IChainable, settings: Settings): StateMachine {
    // A stack id ends in /UUID. The first part of it keeps the names of two stacks of one stage apart: production
    // retains the group, so without it a stage could not be deployed again after its stack was deleted.
    const stackPart = Fn.select(0, Fn.split('-', Fn.select(2, Fn.split('/', Aws.STACK_ID))));
    const logGroup = new LogGroup(this, 'Logs', {
      // Below this prefix Step Functions needs no entry of its own in the Region's one resource policy for logs, whose
      // 5,120 characters all stacks of the account share.
      logGroupName: `/aws/vendedlogs/states/${Stack.of(this).stackName}-${stackPart}`,
      retention: settings.logRetentionDays,
      removalPolicy: removalPolicyOf(settings),
    });
    pinLogicalId(logGroup, 'BatchWorkflowLogs');
    const machine = new StateMachine(this, 'Machine', {
      comment: 'Carries one batch from its first request to its end',
      definitionBody: DefinitionBody.fromChainable(first),
      tracingEnabled: true,
      logs: {
        destination: logGroup,
        level: LogLevel.ALL,
      },
    });
    Validations.of(machine).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'Delivery of logs and X-Ray have no permissions for single resources.',
    });
    return machine;
  }
}

const logicalIdOf = (construct: Construct): string =>
  Stack.of(construct).getLogicalId(construct.node.defaultChild as CfnElement);

/**
 * Lambda or a service behind it is throttled or unavailable. `ServiceUnavailable` is thrown by functions of this service
 * (runtime/observability/observed.ts); `Sandbox.Timedout` is a function whose calls had no answer for all its time.
 */
const transientErrors = [
  serviceUnavailable,
  'Lambda.TooManyRequestsException',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Sandbox.Timedout',
];

/**
 * Retries have full jitter, so that a thousand batches do not come back together. 400 attempts of a transient error, five
 * minutes apart at most, are a day on the average and 2,000 of the 25,000 events that an execution may have. Any other
 * error has ten attempts in some five minutes: as long as a roll-out takes to go back.
 */
function retry(state: LambdaInvoke): void {
  const waits = { interval: Duration.seconds(1), backoffRate: 2, jitterStrategy: JitterType.FULL };
  state.addRetry({ ...waits, errors: transientErrors, maxDelay: Duration.minutes(5), maxAttempts: 400 });
  state.addRetry({
    ...waits,
    errors: ['States.TaskFailed'],
    maxDelay: Duration.minutes(1),
    maxAttempts: 10,
  });
}
