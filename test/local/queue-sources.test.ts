import { rm } from 'node:fs/promises';
import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly, type TemplateResources } from './fixture/change-assembly.ts';
import { clientOptions, startBackground } from './fixture/start-background.ts';
import { makeDataDir, startFixture } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture('Background'));

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

const entry = (resources: TemplateResources, pattern: RegExp) => {
  const id = Object.keys(resources).find((name) => pattern.test(name)) ?? '';
  return { id, properties: resources[id]?.Properties ?? {} };
};
const WORKER_SOURCE = /^WorkerSqsEventSource/;

async function isEmpty(sqs: SQSClient, QueueUrl: string): Promise<boolean> {
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  const { ApproximateNumberOfMessages: ready, ApproximateNumberOfMessagesNotVisible: hidden } =
    Attributes ?? {};
  return ready === '0' && hidden === '0';
}

describe('a start refuses', () => {
  it.each<[string, (resources: TemplateResources) => void, RegExp]>([
    [
      'a visibility time-out that is shorter than the function may take',
      (resources) =>
        Object.assign(entry(resources, /^Work[0-9A-F]{8}$/).properties, { VisibilityTimeout: 1 }),
      /^Worker\w+ \(AWS::Lambda::EventSourceMapping\): Queue visibility timeout: 1 seconds is less than Function timeout: 10 seconds$/,
    ],
    [
      'a large batch without a window',
      (resources) => Object.assign(entry(resources, WORKER_SOURCE).properties, { BatchSize: 11 }),
      /a BatchSize greater than 10 needs a window, which is not available locally$/,
    ],
    [
      'a concurrency that is out of range',
      (resources) =>
        Object.assign(entry(resources, WORKER_SOURCE).properties, {
          ScalingConfig: { MaximumConcurrency: 1 },
        }),
      /MaximumConcurrency must be between 2 and 1000$/,
    ],
    [
      'a source that is no queue',
      (resources) =>
        Object.assign(entry(resources, WORKER_SOURCE).properties, {
          EventSourceArn: 'arn:aws:kinesis:us-east-1:000000000000:stream/s',
        }),
      /only queues can be event sources locally$/,
    ],
    [
      'a property that it would have to leave out',
      (resources) =>
        Object.assign(entry(resources, WORKER_SOURCE).properties, { FilterCriteria: { Filters: [] } }),
      /FilterCriteria is not available locally$/,
    ],
    [
      'a function of another template',
      (resources) => Object.assign(entry(resources, WORKER_SOURCE).properties, { FunctionName: 'elsewhere' }),
      /the function elsewhere is not in the template$/,
    ],
    [
      'queue attributes out of range',
      (resources) => Object.assign(entry(resources, /^Loose[0-9A-F]{8}$/).properties, { DelaySeconds: 901 }),
      /^Loose\w+ \(AWS::SQS::Queue\): AmazonSQS.CreateQueue: .*DelaySeconds/,
    ],
  ])('%s', async (_, change, message) => {
    const assembly = await changeAssembly('Background', change);
    const dataDir = await makeDataDir();
    folders.push(assembly, dataDir);
    await expect(runTemplate({ assembly, dataDir, port: 0 })).rejects.toThrow(message);
  });
});

it('a disabled source delivers nothing, and a close with messages waiting is quick', async () => {
  const assembly = await changeAssembly('Background', (resources) => {
    entry(resources, WORKER_SOURCE).properties.Enabled = false;
  });
  folders.push(assembly);
  const run = await startBackground({ assembly });
  const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
  const send = (queue: string) =>
    sqs.send(new SendMessageCommand({ QueueUrl: run.ref(queue), MessageBody: 'x' }));
  const reached = Promise.withResolvers<void>();
  run.script('Simple', () => {
    reached.resolve();
    return new Promise(() => {});
  });
  await send('Work');
  for (let count = 0; count < 5; count += 1) await send('Plain');
  await reached.promise;
  expect(run.events('Worker')).toEqual([]);
  const closing = performance.now();
  await run.close();
  expect(performance.now() - closing).toBeLessThan(10_000);
});

it('with duplicates on, every batch comes twice and is then gone', async () => {
  const run = await startBackground({ faults: { duplicateMessages: true } });
  const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
  const bodies = ['one', 'two', 'three', 'four'];
  const seen = () => run.events<SQSEvent>('Simple').map(({ Records }) => Records[0]?.body ?? '');
  for (const MessageBody of bodies) {
    await sqs.send(new SendMessageCommand({ QueueUrl: run.ref('Plain'), MessageBody }));
  }
  await vi.waitFor(() => expect(seen().sort()).toEqual([...bodies, ...bodies].sort()), 60_000);
  await vi.waitFor(async () => expect(await isEmpty(sqs, run.ref('Plain'))).toBe(true), 60_000);
  await run.close();
});

describe('a visibility time-out', () => {
  it('hides a failed message, and begins anew for messages that wait for their turn', async () => {
    const run = await startBackground();
    const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
    const QueueUrl = run.ref('Short');
    const send = (MessageBody: string) => sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    const times: number[] = [];
    run.script('Quick', () => {
      times.push(performance.now());
      return times.length === 1 ? { throws: { name: 'Broken', message: 'on purpose' } } : {};
    });
    // The timeout starts after the message was sent. How long the function then takes to start has no influence.
    const sentAt = performance.now();
    await send('failed');
    await vi.waitFor(() => expect(times).toHaveLength(2), 60_000);
    expect((times[1] ?? 0) - sentAt).toBeGreaterThan(3000);
    await vi.waitFor(async () => expect(await isEmpty(sqs, QueueUrl)).toBe(true), 60_000);

    const bodies = Array.from({ length: 14 }, (_, index) => `turn ${index}`);
    const waiting: ((response: object) => void)[] = [];
    const order: string[] = [];
    run.script('Quick', ({ Records }: SQSEvent) => {
      order.push(Records[0]?.body ?? '');
      return order.length > bodies.length ? {} : new Promise((resolve) => waiting.push(resolve));
    });
    for (const body of bodies) await send(body);
    // Two at a time, and one second for each: the last messages wait longer than one visibility timeout.
    while (order.length < bodies.length || waiting.length > 0) {
      const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1, VisibilityTimeout: 0 });
      expect((await sqs.send(receive)).Messages ?? []).toEqual([]);
      for (const release of waiting.splice(0)) release({});
    }
    await vi.waitFor(async () => expect(await isEmpty(sqs, QueueUrl)).toBe(true), 60_000);
    expect(order.sort()).toEqual(bodies.sort());
    await run.close();
    // The test itself takes 13 s.
  });
});

it('messages of a failed batch come again as soon as a test wants', async () => {
  const run = await startBackground({ redeliverySeconds: 0 });
  const sqs = new SQSClient(clientOptions(run.endpoints.sqs));
  const times: number[] = [];
  run.script('Simple', () => {
    times.push(performance.now());
    return times.length < 3 ? { throws: { name: 'Broken', message: 'on purpose' } } : {};
  });
  await sqs.send(new SendMessageCommand({ QueueUrl: run.ref('Plain'), MessageBody: 'x' }));
  await vi.waitFor(() => expect(times).toHaveLength(3), 60_000);
  // With the visibility timeout it would take 60 s.
  expect((times[2] ?? 0) - (times[0] ?? 0)).toBeLessThan(10_000);
  await run.close();
});

it('a template without queues has no engine for them', async () => {
  const run = await startFixture();
  expect(run.endpoints).toMatchObject({ sqs: '', sfn: '', kms: '' });
  await run.close();
});
