import { LogGroup } from 'aws-cdk-lib/aws-logs';
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
import { Aws, Duration, Fn, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { serviceUnavailable } from '#runtime/environment/variables.ts';
import { replyLimits } from './limits.ts';
import { logsOf, pinLogicalId } from './retention.ts';
import type { ServiceFunction } from './service-function.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';

type Functions = Record<'dispatcher' | 'advancer' | 'failer' | 'deliverer', ServiceFunction>;

export class BatchWorkflow extends Construct {
  readonly machine: StateMachine;

  constructor(scope: Construct, id: string, { settings, ...functions }: Functions & { settings: Settings }) {
    super(scope, id);
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
        payload: this.batchInput({ taskToken: JsonPath.taskToken, enteredAt: JsonPath.stateEnteredTime }),
        // After this time the batch is checked without a callback, for example if it has expired or a worker crashed.
        taskTimeout: Timeout.duration(Duration.seconds(seconds)),
        resultPath: JsonPath.DISCARD,
      });
    // The lease of a crashed worker must end. Ten seconds more are for differences of clocks.
    const finishSeconds = replyLimits.leaseSeconds + 10;
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
    this.machine = this.defineMachine(waits[0], settings);
  }

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
   * The pauses of the 400 retries of transient errors take 16.4 hours on average, and full jitter spreads the retries
   * of many batches. The ten retries of other errors are for faulty new code: by default a roll-out first sends it a
   * tenth of the calls, so that a retry likely reaches the old code.
   */
  private invoke(
    name: string,
    handler: ServiceFunction,
    props: Partial<LambdaInvokeProps> & Pick<LambdaInvokeProps, 'resultPath'>,
  ): LambdaInvoke {
    const state = new LambdaInvoke(this, name, {
      lambdaFunction: handler.aliasByName,
      payload: this.batchInput(),
      // CDK's default retrier would match errors of Lambda before the retriers below do.
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

  private batchInput(extra: Record<string, string> = {}): TaskInput {
    return TaskInput.fromObject({
      workspaceId: JsonPath.stringAt('$.workspaceId'),
      batchId: JsonPath.stringAt('$.batchId'),
      ...extra,
    });
  }

  private defineMachine(first: IChainable, settings: Settings): StateMachine {
    // Production retains the group of a deleted stack, so a later stack of the stage needs another name for its group.
    const stackPart = Fn.select(0, Fn.split('-', Fn.select(2, Fn.split('/', Aws.STACK_ID))));
    const logGroup = new LogGroup(this, 'Logs', {
      // Groups without this prefix take room in the account's resource policy for logs, which has at most 5,120
      // characters.
      logGroupName: `/aws/vendedlogs/states/${Stack.of(this).stackName}-${stackPart}`,
      ...logsOf(settings),
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
      logs: { destination: logGroup, level: LogLevel.ALL },
    });
  }
}

/** `Sandbox.Timedout` means that the function timed out. AWS's documentation also names `Lambda.Unknown` for that. */
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
