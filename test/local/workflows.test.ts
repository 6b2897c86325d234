import { randomUUID } from 'node:crypto';
import {
  DescribeExecutionCommand,
  ListExecutionsCommand,
  SendTaskFailureCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { clientOptions, startBackground } from './fixture/start-background.ts';

interface CallbackRequest {
  readonly token: string;
  readonly input: Record<string, unknown>;
  readonly execution: { readonly id: string; readonly name: string };
  readonly attempt: number;
}

const run = closeAfterTests(await startBackground({ waitMilliseconds: { 'Wait for its time': 0 } }));
const sfn = new SFNClient(clientOptions(run.endpoints.sfn));
beforeEach(() => {
  run.script('Asked', () => ({}));
  run.script('Told', () => ({}));
});

const start = async (machine: string, input: object, name: string = randomUUID()) => {
  const { executionArn = '' } = await sfn.send(
    new StartExecutionCommand({ stateMachineArn: run.ref(machine), name, input: JSON.stringify(input) }),
  );
  return executionArn;
};
const describeExecution = (executionArn: string) => sfn.send(new DescribeExecutionCommand({ executionArn }));
const ended = (executionArn: string) =>
  vi.waitFor(async () => {
    const execution = await describeExecution(executionArn);
    expect(execution.status).not.toBe('RUNNING');
    return execution;
  }, 10_000);
const output = async (executionArn: string) => {
  const { status, output: json } = await ended(executionArn);
  expect(status).toBe('SUCCEEDED');
  return JSON.parse(json ?? 'null') as Record<string, unknown>;
};

/** The events by which an execution has requested a callback. */
const requestedBy = (executionArn: string) =>
  run.events<CallbackRequest>('Asked').filter(({ execution }) => execution.id === executionArn);
const requestOf = (executionArn: string, times = 1) =>
  vi.waitFor(() => {
    const events = requestedBy(executionArn);
    expect(events).toHaveLength(times);
    return events.at(-1) as CallbackRequest;
  }, 10_000);

const succeed = (taskToken: string, value: unknown) =>
  sfn.send(new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(value) }));
const fail = (taskToken: string, error: string, cause: string) =>
  sfn.send(new SendTaskFailureCommand({ taskToken, error, cause }));

describe('a task that waits for its token', () => {
  it('gives the function what the context object holds, and goes on with the answer', async () => {
    run.script('Told', () => ({ returns: { understood: true } }));
    const arn = await start('Flow', { question: 1 });
    const event = await requestOf(arn);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(event).toEqual({
      token: expect.any(String),
      input: { question: 1 },
      execution: { id: arn, name: arn.split(':').pop() },
      started: time,
      machine: expect.stringMatching(/^Background-Flow/),
      state: 'Ask and wait for the answer',
      entered: time,
      attempt: 0,
    });
    expect(await describeExecution(arn)).toMatchObject({ status: 'RUNNING', input: '{"question":1}' });
    await succeed(event.token, { value: 42 });
    const report = { said: { understood: true }, status: 200 };
    expect(await output(arn)).toEqual({ question: 1, response: { value: 42 }, report });
    expect(run.events('Told').at(-1)).toEqual({ question: 1, response: { value: 42 } });
  });

  it('goes on by a signal that comes before the function has returned', async () => {
    const release = Promise.withResolvers<object>();
    run.script('Asked', () => release.promise);
    const arn = await start('Flow', {});
    await succeed((await requestOf(arn)).token, 'early');
    expect(await output(arn)).toMatchObject({ response: 'early' });
    release.resolve({});
  });

  it('is signalled by a function', async () => {
    run.script('Asked', ({ token }: CallbackRequest) => ({
      calls: [
        { service: 'sfn', operation: 'SendTaskSuccess', input: { taskToken: token, output: '"by itself"' } },
      ],
    }));
    expect(await output(await start('Flow', {}))).toMatchObject({ response: 'by itself' });
  });

  it('times out as States.Timeout, which States.TaskFailed does not catch, and its token is stale', async () => {
    const arn = await start('HurriedFlow', {});
    const { token } = await requestOf(arn);
    const notified = Promise.withResolvers<void>();
    const release = Promise.withResolvers<object>();
    run.script('Told', () => {
      notified.resolve();
      return release.promise;
    });
    await notified.promise;
    await expect(succeed(token, 1)).rejects.toMatchObject({ name: 'TaskTimedOut' });
    release.resolve({});
    expect(await output(arn)).toMatchObject({ timeout: { Error: 'States.Timeout' } });
  });

  it('is tried again with a new token when the error is one to retry, and fails after the last attempt', async () => {
    const arn = await start('Flow', {});
    const tokens: string[] = [];
    for (const attempt of [0, 1, 2]) {
      const event = await requestOf(arn, attempt + 1);
      expect(event.attempt).toBe(attempt);
      tokens.push(event.token);
      await fail(event.token, 'Again', `attempt ${attempt}`);
    }
    expect(new Set(tokens).size).toBe(3);
    expect(await output(arn)).toMatchObject({ failure: { Error: 'Again', Cause: 'attempt 2' } });
  });

  it('fails when its function does, by the name of the error', async () => {
    run.script('Asked', () => ({ throws: { name: 'Unwilling', message: 'not today' } }));
    const { failure } = (await output(await start('Flow', {}))) as {
      failure: { Error: string; Cause: string };
    };
    expect(failure.Error).toBe('Unwilling');
    expect(JSON.parse(failure.Cause)).toEqual({ errorType: 'Unwilling', errorMessage: 'not today' });
  });

  it('fails when its function is killed', async () => {
    const reached = Promise.withResolvers<void>();
    run.script('Asked', () => {
      reached.resolve();
      return new Promise(() => {});
    });
    const arn = await start('Flow', {});
    await reached.promise;
    run.killWorkers('Asked');
    expect(await output(arn)).toMatchObject({ failure: { Error: 'Runtime.ExitError' } });
  });
});

describe('a token', () => {
  it('that was used is refused as timed out', async () => {
    const arn = await start('Flow', {});
    const { token } = await requestOf(arn);
    await succeed(token, 1);
    await expect(succeed(token, 2)).rejects.toMatchObject({ name: 'TaskTimedOut' });
    await expect(fail(token, 'Late', '')).rejects.toMatchObject({ name: 'TaskTimedOut' });
    expect(await output(arn)).toMatchObject({ response: 1 });
  });

  it('that was never given out is invalid', async () => {
    await expect(succeed('made up', 1)).rejects.toMatchObject({ name: 'InvalidToken' });
    const taskToken = Buffer.alloc(40, 7).toString('base64');
    await expect(succeed(taskToken, 1)).rejects.toMatchObject({ name: 'InvalidToken' });
  });

  it('takes only JSON', async () => {
    const arn = await start('Flow', {});
    const { token: taskToken } = await requestOf(arn);
    const response = new SendTaskSuccessCommand({ taskToken, output: 'no JSON' });
    await expect(sfn.send(response)).rejects.toMatchObject({ name: 'InvalidOutput' });
    await succeed(taskToken, null);
    expect(await output(arn)).toMatchObject({ response: null });
  });
});

describe('a name', () => {
  it('in use by a running execution with the same input starts nothing new', async () => {
    const name = randomUUID();
    const arn = await start('Flow', { same: 1 }, name);
    const { token } = await requestOf(arn);
    expect(await start('Flow', { same: 1 }, name)).toBe(arn);
    await expect(start('Flow', { same: 2 }, name)).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
    await succeed(token, 1);
    await ended(arn);
    await expect(start('Flow', { same: 1 }, name)).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
    expect(requestedBy(arn)).toHaveLength(1);
  });

  it('may not have what AWS refuses, and input must be JSON', async () => {
    await expect(start('Flow', {}, 'with space')).rejects.toMatchObject({ name: 'InvalidName' });
    const stateMachineArn = run.ref('Flow');
    await expect(sfn.send(new StartExecutionCommand({ stateMachineArn, input: '{' }))).rejects.toMatchObject({
      name: 'InvalidExecutionInput',
    });
    await expect(
      sfn.send(new StartExecutionCommand({ stateMachineArn: `${stateMachineArn}x` })),
    ).rejects.toMatchObject({ name: 'StateMachineDoesNotExist' });
    await expect(describeExecution(`${stateMachineArn}:x`)).rejects.toMatchObject({
      name: 'ExecutionDoesNotExist',
    });
  });
});

describe('an execution', () => {
  it('that is stopped is ABORTED with its reason, and its token is stale', async () => {
    const arn = await start('Flow', {});
    const { token } = await requestOf(arn);
    await sfn.send(
      new StopExecutionCommand({ executionArn: arn, error: 'Enough', cause: 'changed my mind' }),
    );
    expect(await describeExecution(arn)).toMatchObject({
      status: 'ABORTED',
      error: 'Enough',
      cause: 'changed my mind',
      stopDate: expect.any(Date),
    });
    await expect(succeed(token, 1)).rejects.toMatchObject({ name: 'TaskTimedOut' });
    expect(await describeExecution(arn)).toMatchObject({ status: 'ABORTED' });
  });

  it('that is stopped between two attempts makes no other one', async () => {
    const arn = await start('Flow', {});
    const other = await start('Flow', {});
    await fail((await requestOf(arn)).token, 'In four seconds', '');
    await sfn.send(new StopExecutionCommand({ executionArn: arn }));
    // The second attempt of the other one comes after that of the stopped one would have come.
    await fail((await requestOf(other)).token, 'In four seconds', '');
    await succeed((await requestOf(other, 2)).token, 1);
    await ended(other);
    expect(requestedBy(arn)).toHaveLength(1);
  });

  it.each(['in a task', 'between two attempts'])(
    'that outlasts its machine is TIMED_OUT: %s',
    async (when) => {
      const executionArn = await start('Hasty', {});
      const { token } = await vi.waitFor(() => {
        const found = run
          .events<{ token: string; execution: { Id: string } }>('Asked')
          .find(({ execution }) => execution.Id === executionArn);
        return found ?? Promise.reject(new Error('not yet asked'));
      }, 60_000);
      if (when === 'between two attempts') await fail(token, 'Again', '');
      const calls = () =>
        run
          .events<{ execution: { Id: string } }>('Asked')
          .filter(({ execution }) => execution.Id === executionArn);
      expect(await ended(executionArn)).toMatchObject({ status: 'TIMED_OUT', error: 'States.Timeout' });
      await expect(succeed(token, 1)).rejects.toMatchObject({ name: 'TaskTimedOut' });
      await ended(await start('Patient', { seconds: 0, reason: 'something that comes after' }));
      expect(calls()).toHaveLength(1);
    },
  );

  it('waits by a number in its input and ends in time', async () => {
    expect(await output(await start('Patient', { seconds: 3600 }))).toEqual({ seconds: 3600 });
  });

  it('fails by a state that says so', async () => {
    expect(await ended(await start('Patient', { seconds: 0, reason: 'too early' }))).toMatchObject({
      status: 'FAILED',
      error: 'NotDue',
      cause: 'too early',
    });
  });

  it('is listed by its state, the latest first', async () => {
    const stateMachineArn = run.ref('Patient');
    const first = await start('Patient', { seconds: 0, reason: 'one' });
    await ended(first);
    const second = await start('Patient', { seconds: 0, reason: 'two' });
    await ended(second);
    const { executions = [], nextToken } = await sfn.send(
      new ListExecutionsCommand({ stateMachineArn, statusFilter: 'FAILED', maxResults: 1 }),
    );
    expect(executions.map(({ executionArn }) => executionArn)).toEqual([second]);
    const next = await sfn.send(
      new ListExecutionsCommand({ stateMachineArn, statusFilter: 'FAILED', maxResults: 1, nextToken }),
    );
    expect(next.executions?.map(({ executionArn }) => executionArn)).toEqual([first]);
  });
});

describe('fields that the engine takes otherwise', () => {
  it('mean what they mean in AWS', async () => {
    run.script('Told', () => ({ returns: { next: run.ref('Asked'), from: 'told' } }));
    run.script('Asked', () => ({ returns: 'the end' }));
    const arn = await start('Corners', { next: 'unused' });
    expect(await output(arn)).toBe('the end');
    expect(run.events('Told').at(-1)).toEqual({ next: 'unused', cancelled: false });
    expect(run.events('Asked').at(-1)).toEqual({ next: run.ref('Asked'), from: 'told' });
  });

  it('a result over 256 KiB ends the execution, whatever is caught', async () => {
    run.script('Told', () => ({ returns: 'x'.repeat(256 * 1024) }));
    expect(await ended(await start('Corners', {}))).toMatchObject({
      status: 'FAILED',
      error: 'States.DataLimitExceeded',
    });
  });

  it('a function that does not exist is a failure by that name', async () => {
    run.script('Told', () => ({ returns: { next: 'elsewhere' } }));
    expect(await ended(await start('Corners', {}))).toMatchObject({
      status: 'FAILED',
      error: 'Lambda.ResourceNotFoundException',
    });
  });
});
