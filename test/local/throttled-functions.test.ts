import { rm } from 'node:fs/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly } from './fixture/change-assembly.ts';
import { type Checkpoint, openCheckpoint } from './fixture/open-checkpoint.ts';
import { clientOptions, startBackground } from './fixture/start-background.ts';
import { type FixtureRun, makeDataDir, startFixture } from './fixture/start-fixture.ts';
import type { FixtureName } from './fixture/synthesize-fixture.ts';

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

/** A fixture in which functions have reserved concurrency, by the name in their logical id. */
async function reserve(fixture: FixtureName, reservations: Record<string, number>): Promise<string> {
  const assembly = await changeAssembly(fixture, (resources) => {
    for (const [name, executions] of Object.entries(reservations)) {
      const ids = Object.keys(resources).filter((id) => new RegExp(`^${name}[0-9A-F]{8}$`).test(id));
      expect(ids).toHaveLength(1);
      const { Properties } = resources[ids[0] ?? ''] ?? {};
      Object.assign(Properties ?? {}, { ReservedConcurrentExecutions: executions });
    }
  });
  folders.push(assembly);
  return assembly;
}

// One attempt only: the SDK would wait and retry.
const lambdaOf = (endpoint: string) => new LambdaClient({ ...clientOptions(endpoint), maxAttempts: 1 });

const physicalNameOf = ({ physicalIds }: FixtureRun, start: string): string =>
  Object.entries(physicalIds).find(([id]) => new RegExp(`^${start}[0-9A-F]{8}$`).test(id))?.[1] ?? 'none';

const throttledBy = (Reason: string) => ({
  name: 'TooManyRequestsException',
  message: 'Rate Exceeded.',
  Reason,
  $metadata: { httpStatusCode: 429 },
});

describe('a function that has as many executions as it has reserved', () => {
  let run: FixtureRun;
  let checkpoint: Checkpoint;
  let lambda: LambdaClient;
  beforeAll(async () => {
    checkpoint = await openCheckpoint();
    run = await startFixture({
      assembly: await reserve('Fixture', { Act: 1, Echo: 0, Authorize: 1, StreamGuarded: 0, Stream: 0 }),
    });
    lambda = lambdaOf(run.endpoints.lambda);
  });
  afterAll(async () => {
    await run.close();
    await checkpoint.close();
  });
  const nameOf = (start: string) => physicalNameOf(run, start);
  const invoke = (FunctionName: string) =>
    lambda.send(new InvokeCommand({ FunctionName, Payload: '{"queryStringParameters":{"do":"count"}}' }));
  const beyondReservation = throttledBy('ReservedFunctionConcurrentInvocationLimitExceeded');

  it('is throttled by Lambda and a 500 of the gateway, until one of them ends', async () => {
    const first = run.act({ do: 'call', url: `${checkpoint.url}/first` });
    await checkpoint.reached('first');
    await expect(invoke(nameOf('Act'))).rejects.toMatchObject(beyondReservation);
    const response = await run.act({ do: 'count' });
    expect([response.status, await response.json()]).toEqual([500, { failed: 'Internal server error' }]);
    checkpoint.release('first');
    expect((await first).status).toBe(200);
    expect((await invoke(nameOf('Act'))).FunctionError).toBeUndefined();
    expect((await run.act({ do: 'count' })).status).toBe(200);
  });

  it('shares its reservation among its versions and aliases', async () => {
    const named = ['EchoLive', 'EchoCurrentVersion'].map(
      (start) => Object.entries(run.physicalIds).find(([id]) => id.startsWith(start))?.[1] ?? 'none',
    );
    for (const reference of [nameOf('Echo'), ...named])
      await expect(invoke(reference)).rejects.toMatchObject(beyondReservation);
  });

  it('is a 500 as well where its response would be streamed', async () => {
    const response = await run.fetch('stream');
    expect([response.status, await response.json()]).toEqual([500, { failed: 'Internal server error' }]);
  });

  it('stops every route behind it when it is the authorizer, but for what is cached', async () => {
    const call = (word: string) => run.fetch('stream', { method: 'POST', headers: { Authorization: word } });
    // The route's function can never run, so the integration returns 500; the authorizer's response is cached.
    expect((await call('kept')).status).toBe(500);
    const slow = run.fetch('fresh', { headers: { Authorization: `${checkpoint.url}/authorizer` } });
    await checkpoint.reached('authorizer');
    for (const [word, failed] of [
      ['somebody', null],
      ['kept', 'Internal server error'],
    ] as const) {
      const response = await call(word);
      expect([word, response.status, await response.json()]).toEqual([word, 500, { failed: String(failed) }]);
    }
    checkpoint.release('authorizer');
    await slow;
    expect(await (await call('somebody')).json()).toEqual({ failed: 'Internal server error' });
  });
});

it('functions without a reservation share what the account has, whichever of them runs', async () => {
  const checkpoint = await openCheckpoint();
  const run = await startFixture({ accountConcurrency: 2 });
  const lambda = lambdaOf(run.endpoints.lambda);
  const calls = [
    run.act({ do: 'call', url: `${checkpoint.url}/one` }),
    run.fetch(`impatient?do=call&url=${checkpoint.url}/two`),
  ];
  await Promise.all([checkpoint.reached('one'), checkpoint.reached('two')]);
  await expect(
    lambda.send(new InvokeCommand({ FunctionName: physicalNameOf(run, 'Count') })),
  ).rejects.toMatchObject(throttledBy('ConcurrentInvocationLimitExceeded'));
  expect((await run.fetch('open/fixed?do=count')).status).toBe(500);
  checkpoint.release('one');
  expect((await calls[0])?.status).toBe(200);
  expect((await run.fetch('open/fixed?do=count')).status).toBe(200);
  checkpoint.release('two');
  await Promise.all(calls);
  await run.close();
  await checkpoint.close();
});

describe('a start', () => {
  it('takes reservations that leave 100, and refuses those that leave 99', async () => {
    const run = await startFixture({ assembly: await reserve('Fixture', { Act: 500, Echo: 400 }) });
    await run.close();
    const assembly = await reserve('Fixture', { Act: 500, Echo: 401 });
    const dataDir = await makeDataDir();
    folders.push(dataDir);
    await expect(runTemplate({ assembly, dataDir, port: 0 })).rejects.toThrow(
      /^\w+ \(AWS::Lambda::Function\): Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of \[100\]\.$/,
    );
  });
});

describe('a function that is throttled when called by', () => {
  it('a queue gets its message when an execution ends, as one that was received once', async () => {
    const run = await startBackground({ assembly: await reserve('Background', { Simple: 1 }) });
    const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
    const release = Promise.withResolvers<object>();
    run.script('Simple', ({ Records }: SQSEvent) => (Records[0]?.body === 'long' ? release.promise : {}));
    const send = (MessageBody: string) =>
      sqs.send(new SendMessageCommand({ QueueUrl: run.ref('Plain'), MessageBody }));
    await send('long');
    await vi.waitFor(() => expect(run.events('Simple')).toHaveLength(1), 60_000);
    await send('short');
    const lambda = lambdaOf(run.endpoints.lambda);
    await expect(lambda.send(new InvokeCommand({ FunctionName: run.ref('Simple') }))).rejects.toThrow(
      'Rate Exceeded.',
    );
    expect(run.events('Simple')).toHaveLength(1);
    release.resolve({});
    await vi.waitFor(() => expect(run.events('Simple')).toHaveLength(2), 60_000);
    const { Records } = run.events<SQSEvent>('Simple')[1] ?? { Records: [] };
    expect(Records.map(({ body, attributes }) => [body, attributes.ApproximateReceiveCount])).toEqual([
      ['short', '1'],
    ]);
    expect(run.logs).toEqual([]);
    await run.close();
  });

  it('a schedule is called again after 1 s, then 2', async () => {
    const waits: number[] = [];
    const due: (() => void)[] = [];
    const run = await startBackground({
      assembly: await reserve('Background', { Scheduled: 1 }),
      timer: {
        after(milliseconds, callback) {
          if (milliseconds > 0 && milliseconds < 10_000) waits.push(milliseconds);
          if (milliseconds < 10_000) due.push(callback);
          return () => {};
        },
      },
    });
    const release = Promise.withResolvers<object>();
    run.script('Scheduled', () => release.promise);
    const lambda = lambdaOf(run.endpoints.lambda);
    const waiting = lambda.send(new InvokeCommand({ FunctionName: run.ref('Scheduled') }));
    await vi.waitFor(() => expect(run.events('Scheduled')).toHaveLength(1), 60_000);
    const next = () => {
      for (const callback of due.splice(0)) callback();
    };
    next();
    await vi.waitFor(() => expect(waits).toEqual([1000]), 60_000);
    next();
    await vi.waitFor(() => expect(waits).toEqual([1000, 2000]), 60_000);
    release.resolve({});
    await waiting;
    next();
    await vi.waitFor(() => expect(run.events('Scheduled')).toHaveLength(2), 60_000);
    await run.close();
  });

  it('a workflow fails the task in Lambda’s words', async () => {
    const run = await startBackground({ assembly: await reserve('Background', { Asked: 0 }) });
    const sfn = new SFNClient(clientOptions(run.endpoints.sfn));
    const { executionArn } = await sfn.send(
      new StartExecutionCommand({ stateMachineArn: run.ref('Endless'), input: '{}' }),
    );
    const ended = await vi.waitFor(async () => {
      const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
      expect(execution.status).toBe('FAILED');
      return execution;
    }, 10_000);
    expect(ended).toMatchObject({
      error: 'Lambda.TooManyRequestsException',
      cause: expect.stringMatching(/^Rate Exceeded\. \(Service: Lambda, Status Code: 429, Request ID: /),
    });
    await run.close();
  });
});
