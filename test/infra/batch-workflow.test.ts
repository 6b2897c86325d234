import validate from 'asl-validator';
import * as emulator from 'aws-local-stepfunctions';
import { describe, expect, test } from 'vitest';
import type { RunContext } from '#local/run-context.ts';
import { readDefinition } from '#local/step-functions/read-definition.ts';
import { runExecution } from '#local/step-functions/run-execution.ts';
import { createTaskTokens } from '#local/step-functions/task-tokens.ts';
import { evaluate, synthesize } from './synthesize.ts';

interface Retrier {
  ErrorEquals: string[];
  IntervalSeconds: number;
  BackoffRate: number;
  MaxAttempts: number;
  MaxDelaySeconds: number;
  JitterStrategy: string;
}

interface State {
  Type: string;
  TimeoutSeconds?: number;
  Next?: string;
  Retry?: Retrier[];
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

test('every wait ends by itself, looks again, and fails the batch only when it goes on failing', () => {
  const waits = Object.entries(workflowDefinition().States).filter(
    ([, { TimeoutSeconds }]) => TimeoutSeconds,
  );
  expect(waits.map(([name, { TimeoutSeconds }]) => [name, TimeoutSeconds])).toEqual([
    ['Offer slots to workers and wait for the last request', 86_400],
    ['Wait for the requests that are left', 86_400],
    ['Wait for the requests in work', 40],
  ]);
  for (const [, { Catch, Next }] of waits) {
    expect(Catch?.map(({ ErrorEquals, Next: next }) => [ErrorEquals, next])).toEqual([
      [['States.Timeout'], 'See what has become of the batch'],
      [
        expect.arrayContaining(['ServiceUnavailable', 'Lambda.ServiceException']),
        'Leave the batch to the reconciler',
      ],
      [['States.ALL'], 'Fail what is left of the batch'],
    ]);
    expect(Next).toBe('See what has become of the batch');
  }
  const shorter = workflowDefinition({
    settings: JSON.stringify({ webFunctions: 'none', batchTimeoutSeconds: 60 }),
  });
  expect(shorter.States['Wait for the requests that are left']?.TimeoutSeconds).toBe(60);
});

const definition = workflowDefinition();
const tasks = Object.entries(definition.States).filter(([, { Type }]) => Type === 'Task');
const names = tasks.map(([name]) => name);

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
const retrierOf = ({ Retry = [] }: State, error: string): Retrier | undefined =>
  Retry.find(({ ErrorEquals }) =>
    ErrorEquals.some(
      (name) =>
        name === error ||
        name === 'States.ALL' ||
        (name === 'States.TaskFailed' && error !== 'States.Timeout'),
    ),
  );

/** The seconds of all waits of a retrier. With full jitter each wait is anything from zero to its longest. */
function secondsOf({ IntervalSeconds, BackoffRate, MaxAttempts, MaxDelaySeconds, JitterStrategy }: Retrier) {
  const longest = Array.from({ length: MaxAttempts }, (_, index) =>
    Math.min(IntervalSeconds * BackoffRate ** index, MaxDelaySeconds),
  );
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const hasJitter = JitterStrategy === 'FULL';
  const average = sum(longest) * (hasJitter ? 0.5 : 1);
  // A sum of many independent waits is nearly normal: 998 of 1,000 sums are within 3.09 standard deviations.
  const spread = hasJitter ? 3.09 * Math.sqrt(sum(longest.map((wait) => wait ** 2 / 12))) : 0;
  return { least: average - spread, average, most: average + spread, limit: sum(longest) };
}

const hour = 3600;

describe.each(tasks)('%s', (_, state) => {
  test.each(transient)('goes on through %s for hours, in no lockstep', (error) => {
    const retrier = retrierOf(state, error);
    expect(retrier).toMatchObject({ JitterStrategy: 'FULL', MaxDelaySeconds: 300, MaxAttempts: 400 });
    const { least, average, most, limit } = secondsOf(retrier as Retrier);
    // The figures of docs/batches.md.
    expect([least, average, most, limit].map((seconds) => (seconds / hour).toFixed(1))).toEqual([
      '14.9',
      '16.4',
      '17.8',
      '32.7',
    ]);
  });

  test('goes on through any other error for minutes', () => {
    const retrier = retrierOf(state, 'TypeError');
    expect(retrier).toMatchObject({ JitterStrategy: 'FULL', MaxDelaySeconds: 60, MaxAttempts: 10 });
    const { average, limit } = secondsOf(retrier as Retrier);
    expect([average, limit]).toEqual([151.5, 303]);
  });

  test('never repeats a wait that has timed out', () => {
    expect(retrierOf(state, 'States.Timeout')).toBeUndefined();
  });

  test('has a history far below the 25,000 events that an execution may have', () => {
    // Scheduled, started, submitted, failed, and the next retry, for the attempts of all retriers.
    const attempts = (state.Retry ?? []).reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 1);
    expect(attempts * 5).toBeLessThan(25_000 / 10);
  });

  test('ends the execution, and not the batch, if a service stays unavailable', () => {
    for (const error of transient) {
      const next = state.Catch?.find(
        ({ ErrorEquals }) => ErrorEquals.includes(error) || ErrorEquals.includes('States.ALL'),
      )?.Next;
      expect([undefined, 'Leave the batch to the reconciler'], error).toContain(next);
    }
  });
});

/** Seconds become 10 µs: the waits of 16 hours take the timers of a second. */
const scale = 1e-5;

const scaled = Object.fromEntries(
  Object.entries(definition.States).map(([name, state]) => [
    name,
    {
      ...state,
      ...(state.Retry && {
        Retry: state.Retry.map((retrier) => ({
          ...retrier,
          IntervalSeconds: retrier.IntervalSeconds * scale,
          MaxDelaySeconds: retrier.MaxDelaySeconds * scale,
        })),
      }),
    },
  ]),
);

/** Runs the definition from a state on the runner's engine, and counts the attempts of each function. */
async function runFrom(state: string, errorType: string) {
  const attempts: Record<string, number> = {};
  const functionIds = new Set(JSON.stringify(scaled).match(/(?<=function:)\w+/g));
  const functions = [...functionIds].map((functionName) => ({
    functionName,
    functionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`,
    qualifiers: ['live'],
    async invoke() {
      attempts[functionName] = (attempts[functionName] ?? 0) + 1;
      const [service, name] = errorType.split('Lambda.');
      return {
        succeeded: false,
        errorType: name ?? service,
        errorMessage: 'as the test says',
        // The error of Lambda itself, whose name gets the prefix.
        ...(name !== undefined && { throttle: 'ConcurrentInvocationLimitExceeded' }),
      };
    },
  }));
  const context = {
    options: {},
    functions: new Map(functions.map((one) => [one.functionName, one])),
    access: { rejectionOf: () => undefined },
  } as unknown as RunContext;
  const execution = runExecution(
    {
      ...{ arn: 'execution', machineArn: 'machine', name: 'batch-1', startedAt: 0, status: 'RUNNING' },
      input: JSON.stringify({ workspaceId: 'w', batchId: 'b' }),
    },
    {
      emulator,
      machine: {
        ...{ arn: 'machine', name: 'machine', role: { accessKeyId: 'role' } as never },
        // The emulator's check takes only whole seconds.
        definition: readDefinition(JSON.stringify({ StartAt: state, States: scaled }), emulator, context, {
          isChecked: true,
        }),
      },
      tokens: createTaskTokens(),
      context,
    },
  );
  return { outcome: await execution.outcome, attempts: Object.values(attempts) };
}

describe('the machine runs', () => {
  const failsItself = ['Deliver the webhook', 'Fail what is left of the batch'];
  const failsBatch = names.filter((name) => !failsItself.includes(name));

  test.each(['ServiceUnavailable', 'Lambda.ServiceException', 'Sandbox.Timedout'])(
    'with 400 retries through %s, and leaves the batch to the reconciler',
    async (error) => {
      const ended = await Promise.all(names.map((name) => runFrom(name, error)));
      expect(ended.map(({ attempts }) => attempts)).toEqual(names.map(() => [401]));
      expect(ended.map(({ outcome }) => outcome)).toEqual(
        names.map((name) =>
          expect.objectContaining({
            status: 'FAILED',
            error: failsItself.includes(name) ? error : 'ServiceUnavailable',
          }),
        ),
      );
    },
  );

  test('with ten retries through an error of the code, and then fails the batch', async () => {
    const ofBatch = await Promise.all(failsBatch.map((name) => runFrom(name, 'TypeError')));
    // The attempts of the task, and then those of the function that fails the batch.
    expect(ofBatch.map(({ attempts }) => attempts)).toEqual(failsBatch.map(() => [11, 11]));
    const ofThemselves = await Promise.all(failsItself.map((name) => runFrom(name, 'TypeError')));
    expect(ofThemselves.map(({ attempts }) => attempts)).toEqual(failsItself.map(() => [11]));
    for (const { outcome } of [...ofBatch, ...ofThemselves])
      expect(outcome).toMatchObject({ status: 'FAILED', error: 'TypeError' });
  });
});
