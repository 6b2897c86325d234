import validate from 'asl-validator';
import { describe, expect, test } from 'vitest';
import { evaluate, synthesize } from './synthesize.ts';

interface State {
  Type: string;
  TimeoutSeconds?: number;
  Next?: string;
  Retry?: { ErrorEquals: string[] }[];
  Catch?: { ErrorEquals: string[]; Next: string }[];
}

/**
 * The definition of the batch workflow. Each function has its logical id as its name; other values that are known only
 * after the deployment are `aws`.
 */
function workflowDefinition(context = {}): { StartAt: string; States: Record<string, State> } {
  const [machine] = Object.values(synthesize(context).resources('AWS::StepFunctions::StateMachine'));
  if (machine === undefined) throw new Error('The template has no state machine');
  const definition = machine.Properties.DefinitionString as { 'Fn::Join': [string, unknown[]] };
  const textOf = (part: unknown): string => {
    if (typeof part === 'string') return part;
    const { 'Fn::GetAtt': [logicalId] = [] } = part as { 'Fn::GetAtt'?: string[] };
    return logicalId === undefined ? 'aws' : `arn:aws:lambda:us-east-1:000000000000:function:${logicalId}`;
  };
  return JSON.parse(definition['Fn::Join'][1].map(textOf).join(''));
}

const { template, resource } = synthesize();
test('the definition is one that Step Functions takes', () => {
  const { isValid, errorsText } = validate(workflowDefinition());
  expect([isValid, isValid ? '' : errorsText('\n')]).toEqual([true, '']);
});

test('its log group is one that needs no entry in the resource policy of the Region, and another in each stack', () => {
  const nameIn = (stackId: string) => {
    const { LogGroupName } = resource('AWS::Logs::LogGroup', 'BatchWorkflowLogs').Properties;
    return evaluate(template, LogGroupName, { 'AWS::StackId': stackId });
  };
  const stack = 'arn:aws:cloudformation:eu-west-1:123456789012:stack/agent-service-production';
  expect(nameIn(`${stack}/1a2b3c4d-0000-11ef-9a2b-0a1b2c3d4e5f`)).toBe(
    '/aws/vendedlogs/states/agent-service-production-1a2b3c4d',
  );
  expect(nameIn(`${stack}/5e6f7a8b-0000-11ef-9a2b-0a1b2c3d4e5f`)).toBe(
    '/aws/vendedlogs/states/agent-service-production-5e6f7a8b',
  );
});

test('the reconciler runs every minute, and a run that comes too late is dropped', () => {
  const withinAMinute = { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 };
  expect(resource('AWS::Events::Rule', 'Batches').Properties).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    Targets: [{ RetryPolicy: withinAMinute }],
  });
  expect(resource('AWS::Lambda::EventInvokeConfig', 'ReconcileBatches').Properties).toMatchObject(
    withinAMinute,
  );
  const { Timeout } = resource('AWS::Lambda::Function', 'ReconcileBatches').Properties;
  expect(Number(Timeout)).toBeLessThanOrEqual(60);
});

test('every wait ends by itself, and looks again', () => {
  const waits = Object.entries(workflowDefinition().States).filter(
    ([, { TimeoutSeconds }]) => TimeoutSeconds,
  );
  expect(waits.map(([name, { TimeoutSeconds }]) => [name, TimeoutSeconds])).toEqual([
    ['Offer slots to workers and wait for the last request', 86_400],
    ['Wait for the requests that are left', 86_400],
    ['Wait for the requests in work', 40],
  ]);
  for (const [, state] of waits) {
    expect(nextAfter(state, 'States.Timeout')).toBe('See what has become of the batch');
    expect(state.Next).toBe('See what has become of the batch');
  }
  const shorter = workflowDefinition({
    settings: JSON.stringify({ webFunctions: 'none', batchTimeoutSeconds: 60 }),
  });
  expect(shorter.States['Wait for the requests that are left']?.TimeoutSeconds).toBe(60);
});

const definition = workflowDefinition();
const tasks = Object.entries(definition.States).filter(([, { Type }]) => Type === 'Task');

/** The errors of Lambda and of functions if they are throttled or unavailable. */
const transient = [
  'ServiceUnavailable',
  'Lambda.AWSLambdaException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.SdkClientException',
  'Lambda.ServiceException',
  'Lambda.TooManyRequestsException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
];

/** As Step Functions does: the first retrier that names the error, or all errors of tasks, decides alone. */
const retrierOf = ({ Retry = [] }: State, error: string) =>
  Retry.find(({ ErrorEquals }) =>
    ErrorEquals.some(
      (name) =>
        name === error ||
        name === 'States.ALL' ||
        (name === 'States.TaskFailed' && error !== 'States.Timeout'),
    ),
  );

/** The state after a task whose retries have all failed: that of the first catcher of the error. */
const nextAfter = ({ Catch = [] }: State, error: string): string | undefined =>
  Catch.find(({ ErrorEquals }) => ErrorEquals.includes(error) || ErrorEquals.includes('States.ALL'))?.Next;

/** Waits that grow from a second and spread the retries of many batches. */
const waits = { IntervalSeconds: 1, BackoffRate: 2, JitterStrategy: 'FULL' };

describe.each(tasks)('%s', (name, state) => {
  // Their executions fail, and the reconciler starts another one.
  const failsItself = ['Deliver the webhook', 'Fail what is left of the batch'].includes(name);

  // docs/batches.md says how long they last.
  test.each(transient)('goes on through %s for hours, in no lockstep', (error) => {
    expect(retrierOf(state, error)).toMatchObject({ ...waits, MaxDelaySeconds: 300, MaxAttempts: 400 });
  });

  test('goes on through any other error for minutes', () => {
    expect(retrierOf(state, 'TypeError')).toMatchObject({ ...waits, MaxDelaySeconds: 60, MaxAttempts: 10 });
  });

  test('never repeats a wait that has timed out', () => {
    expect(retrierOf(state, 'States.Timeout')).toBeUndefined();
  });

  test('ends the execution, and not the batch, if a service stays unavailable', () => {
    for (const error of transient)
      expect(nextAfter(state, error), error).toBe(
        failsItself ? undefined : 'Leave the batch to the reconciler',
      );
  });

  test('fails the batch if any other error stays', () => {
    expect(nextAfter(state, 'TypeError')).toBe(failsItself ? undefined : 'Fail what is left of the batch');
  });
});
