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
import { LambdaInvoke, type LambdaInvokeProps } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Aws, type CfnElement, Duration, Fn, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { serviceUnavailable, variables } from '#runtime/environment/variables.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import type { BatchFunctionName } from './function-names.ts';
import { workerTimeoutSeconds } from './function-table.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { ServiceFunction } from './service-function.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';

/** AWS recommends six times the function's timeout, so that SQS never redelivers a message that is still in work. */
const visibilitySeconds = 6 * workerTimeoutSeconds;
/**
 * A run of the reconciler that cannot start within a minute is dropped. 60 s is the minimum of EventBridge and of
 * Lambda.
 */
const noRetries = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };

/**
 * Processes batches: a queue that offers slots to workers, and a state machine that waits until all requests have ended.
 */
export class BatchWorkflow extends Construct {
  readonly queue: Queue;
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
    this.queue = this.createQueue();
    const worker = functionOf('process-batch-items');
    const advancer = functionOf('advance-batch');
    const dispatcher = functionOf('dispatch-batch');
    const reconciler = functionOf('reconcile-batches');
    const slots = Math.max(Math.floor(settings.batchWorkspaceShare * concurrency.batchWorkers), 1);
    for (const handler of [worker, dispatcher, advancer, reconciler]) {
      handler.sendsTo(this.queue);
      handler.addEnvironment(variables.batchWorkspaceSlots, String(slots));
      handler.addEnvironment(variables.requestsPerWorker, String(settings.requestsPerWorker));
    }
    worker.readsDepthOf(this.queue);
    // One message makes one worker.
    worker.receivesFrom(this.queue, { batchSize: 1, maxConcurrency: concurrency.batchWorkers });
    this.machine = this.createMachine(
      {
        dispatcher,
        advancer,
        failer: functionOf('fail-batch'),
        deliverer: functionOf('deliver-webhook'),
      },
      settings,
    );
    for (const handler of [worker, reconciler]) {
      handler.completesCallbacksOf(this.machine);
      handler.starts(this.machine);
      handler.readsExecutionsOf(this.machine);
      Validations.of(handler.role ?? handler).acknowledge({
        id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<${logicalIdOf(this.machine)}.Name>:*]`,
        reason: 'Executions are named when they start; these are the executions of one machine.',
      });
    }
    // A separate policy: the dispatcher depends on its role's default policy, and the machine depends on the
    // dispatcher. With this statement in the default policy CloudFormation would find a circular dependency.
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
      description: 'Runs the reconciler, which resumes work that crashes and outages have interrupted',
      // With a lease of 30 s, the slot of a dead worker has a new message within 92 s. A run costs two reads if no batch is
      // open and every webhook is delivered.
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [
        new LambdaFunction(reconciler.alias, {
          event: RuleTargetInput.fromObject({}),
          // The next run does the work of a lost one.
          ...noRetries,
        }),
      ],
    });
    // By default Lambda retries an asynchronous invocation twice, and for up to six hours if it is throttled.
    reconciler.alias.configureAsyncInvoke({
      retryAttempts: noRetries.retryAttempts,
      maxEventAge: noRetries.maxEventAge,
    });
  }

  /** Its messages only offer slots, and the reconciler sends those of silent slots once more: there are no dead letters. */
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

  private createMachine(
    functions: Record<'dispatcher' | 'advancer' | 'failer' | 'deliverer', ServiceFunction>,
    settings: Settings,
  ): StateMachine {
    const delivery = this.createDelivery(functions.deliverer);
    const failRemaining = this.invoke('Fail what is left of the batch', functions.failer, {
      resultSelector: { 'webhook.$': '$.Payload.webhook' },
      resultPath: '$.look',
    });
    failRemaining.next(delivery);
    const outage = new Fail(this, 'Leave the batch to the reconciler', {
      error: serviceUnavailable,
      cause: 'A service was throttled or unavailable for hours',
    });
    /** Fails the batch after an error that no retry can cure. A transient error only ends the execution. */
    const failBatchOnError = (state: LambdaInvoke): void => {
      state.addCatch(outage, { errors: transientErrors, resultPath: JsonPath.DISCARD });
      state.addCatch(failRemaining, { resultPath: '$.error' });
    };
    const check = this.invoke('See what has become of the batch', functions.advancer, {
      resultSelector: { 'stage.$': '$.Payload.stage', 'webhook.$': '$.Payload.webhook' },
      resultPath: '$.look',
    });
    const wait = (name: string, seconds: number): LambdaInvoke =>
      this.invoke(name, functions.dispatcher, {
        integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
        payload: this.batchInput({
          taskToken: JsonPath.taskToken,
          enteredAt: JsonPath.stateEnteredTime,
        }),
        // After this time the workflow checks the batch, in case the batch has expired or its task callback was lost.
        taskTimeout: Timeout.duration(Duration.seconds(seconds)),
        resultPath: JsonPath.DISCARD,
      });
    // Workers complete the task callback when no request is in work any more. If a worker has crashed, the workflow
    // waits until the leases of the slots have ended; ten seconds more are for differences of clocks.
    const finishSeconds = settings.leaseSeconds + 10;
    const waits = [
      wait('Offer slots to workers and wait for the last request', settings.batchTimeoutSeconds),
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
        .otherwise(delivery),
    );
    return this.defineMachine(waits[0], settings);
  }

  /** The states after the end of a batch. The deliverer returns the seconds until the next attempt, if there is one. */
  private createDelivery(deliverer: ServiceFunction): IChainable {
    const ended = new Succeed(this, 'The batch is over');
    // If all retries fail, the execution fails and the reconciler starts another one.
    const deliver = this.invoke('Deliver the webhook', deliverer, {
      resultSelector: { 'state.$': '$.Payload.state', 'seconds.$': '$.Payload.seconds' },
      resultPath: '$.delivery',
    });
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

  /**
   * A task that calls a function. Its retries have full jitter, so that a thousand batches do not retry at the same time.
   *
   * Transient errors have 400 retries, at most five minutes apart: 16.4 hours on average, 14.9 to 17.8 in 998 of 1,000
   * executions, and the time of the attempts. They are 2,000 of the 25,000 events that an execution may have.
   *
   * Other errors have ten retries: 151 s on average, at most 303, and less than 49 in one of 1,000 executions. They are
   * for new code that fails: by default a roll-out sends it a tenth of the calls, so a retry reaches the former code.
   */
  private invoke(
    name: string,
    handler: ServiceFunction,
    props: Partial<LambdaInvokeProps> & Pick<LambdaInvokeProps, 'resultPath'>,
  ): LambdaInvoke {
    const state = new LambdaInvoke(this, name, {
      lambdaFunction: handler.aliasByName,
      payload: this.batchInput(),
      // The library's retrier would match errors of Lambda before those below. It gives up after 126 s, without jitter.
      retryOnServiceExceptions: false,
      ...props,
    });
    const waits = { interval: Duration.seconds(1), backoffRate: 2, jitterStrategy: JitterType.FULL };
    state.addRetry({ ...waits, errors: transientErrors, maxDelay: Duration.minutes(5), maxAttempts: 400 });
    state.addRetry({
      ...waits,
      errors: ['States.TaskFailed'],
      maxDelay: Duration.minutes(1),
      maxAttempts: 10,
    });
    return state;
  }

  /** The input of every function of the workflow: the ids of workspace and batch. */
  private batchInput(extra: Record<string, string> = {}): TaskInput {
    return TaskInput.fromObject({
      workspaceId: JsonPath.stringAt('$.workspaceId'),
      batchId: JsonPath.stringAt('$.batchId'),
      ...extra,
    });
  }

  private defineMachine(first: IChainable, settings: Settings): StateMachine {
    // A stack id ends in /UUID. The first part of the UUID makes the log group's name unique. Production retains the
    // group after its stack is deleted, so a new stack of the same stage could not create a group of the same name.
    const stackPart = Fn.select(0, Fn.split('-', Fn.select(2, Fn.split('/', Aws.STACK_ID))));
    const logGroup = new LogGroup(this, 'Logs', {
      // For a group with this prefix Step Functions adds no entry to the account's resource policy for logs in the
      // Region. That policy has at most 5,120 characters, which all stacks share.
      logGroupName: `/aws/vendedlogs/states/${Stack.of(this).stackName}-${stackPart}`,
      retention: settings.logRetentionDays,
      removalPolicy: removalPolicyOf(settings),
    });
    pinLogicalId(logGroup, 'BatchWorkflowLogs');
    const role = new ServiceRole(this, 'MachineRole', 'states.amazonaws.com');
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'Delivery of logs and X-Ray have no permissions for single resources.',
    });
    return new StateMachine(this, 'Machine', {
      comment: 'Carries one batch from its first request to its end',
      definitionBody: DefinitionBody.fromChainable(first),
      role,
      tracingEnabled: true,
      logs: {
        destination: logGroup,
        level: LogLevel.ALL,
      },
    });
  }
}

const logicalIdOf = (construct: Construct): string =>
  Stack.of(construct).getLogicalId(construct.node.defaultChild as CfnElement);

/**
 * Errors that mean: Lambda, or a service that the function calls, is throttled or unavailable. Functions of this
 * service throw `ServiceUnavailable` (runtime/observability/observed.ts). `Sandbox.Timedout` means that the function
 * timed out, for example because a call received no response; AWS's documentation calls that `Lambda.Unknown`.
 */
const transientErrors = [
  serviceUnavailable,
  'Lambda.TooManyRequestsException',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
];
