import { createServer } from 'node:http';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, it, onTestFinished } from 'vitest';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import type { FileStore, PreparationLeases, PreparedAttachments, StoredFile } from '#domain/files/files.ts';
import { listenLocally } from '#support/listen-locally.ts';

it('asks for nothing when the reply has ended before it begins', async () => {
  const received: string[] = [];
  const failingRead = (name: string) => (): never => {
    received.push(name);
    throw new Error(`${name} was called`);
  };
  const reader = attachmentReader(
    {
      clock: { now: () => new Date() },
      shares: { wait: async () => () => undefined },
      files: { read: failingRead('files') } as unknown as FileStore,
      prepared: { get: failingRead('prepared') } as unknown as PreparedAttachments,
    },
    new LambdaClient({ region: 'us-east-1' }),
    () => 'prepare-attachment',
  );
  const file = { uuid: 'file', workspaceId: 'ws', expiresAt: null } as StoredFile;
  await expect(
    reader.read(file, { whole: 1, start: 1 }, AbortSignal.abort(new Error('The reply has ended'))),
  ).rejects.toThrow('The reply has ended');
  expect(received).toEqual([]);
});

it('waits while Lambda throttles the function that prepares files, and as long as the reply does', async () => {
  let throttled = 3;
  let called = 0;
  let wasPrepared = false;
  const lambda = createServer((_request, response) => {
    called += 1;
    if (called <= throttled) {
      response.writeHead(429, { 'x-amzn-errortype': 'TooManyRequestsException' });
      response.end(
        '{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","message":"Rate Exceeded."}',
      );
      return;
    }
    wasPrepared = true;
    response.end('null');
  });
  const { url: endpoint, close } = await listenLocally(lambda);
  onTestFinished(close);
  const reader = attachmentReader(
    {
      clock: { now: () => new Date() },
      shares: { wait: async () => () => undefined },
      files: { readAddress: async () => 'file' } as unknown as FileStore,
      prepared: {
        writeAddresses: async () => ({ content: 'content', image: 'image' }),
        get: async () => (wasPrepared ? { type: 'unreadable', reason: 'is empty' } : undefined),
      } as unknown as PreparedAttachments,
    },
    new LambdaClient({
      region: 'us-east-1',
      endpoint,
      credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
      maxAttempts: 1,
    }),
    () => 'prepare-attachment',
  );
  const file = (uuid: string) => ({ uuid, workspaceId: 'ws', expiresAt: null }) as StoredFile;
  const bounds = { whole: 1, start: 1 };
  const { signal } = new AbortController();
  expect(await reader.read(file('one'), bounds, signal)).toEqual({ type: 'unreadable', reason: 'is empty' });
  expect(called).toBe(4);

  throttled = Number.POSITIVE_INFINITY;
  wasPrepared = false;
  const reply = new AbortController();
  const reading = reader.read(file('two'), bounds, reply.signal);
  reply.abort(new Error('The reply has ended'));
  await expect(reading).rejects.toThrow('The reply has ended');
});

describe('a file that many replies need at once', () => {
  const file = { uuid: 'file', workspaceId: 'ws', expiresAt: null } as StoredFile;
  const bounds = { whole: 1, start: 1 };
  const prepared = { type: 'unreadable', reason: 'is empty' } as const;

  /** Processes that share the table and the bucket. The test ends each preparation, with a success or an error. */
  function openWorkers(count: number, turn: Promise<void> = Promise.resolve()) {
    let taken: number | undefined;
    let isPrepared = false;
    const leases: PreparationLeases = {
      async takeLease(_file, until) {
        taken ??= until;
        return taken === until;
      },
      async releaseLease() {
        taken = undefined;
      },
    };
    const invoked: PromiseWithResolvers<object>[] = [];
    const lambda = {
      send() {
        const invocation = Promise.withResolvers<object>();
        invoked.push(invocation);
        return invocation.promise;
      },
    } as unknown as LambdaClient;
    const readers = Array.from({ length: count }, () =>
      attachmentReader(
        {
          clock: { now: () => new Date(0) },
          shares: { wait: () => turn.then(() => () => undefined) },
          files: { readAddress: async () => 'file' } as unknown as FileStore,
          prepared: {
            writeAddresses: async () => ({ content: 'content', image: 'image' }),
            get: async () => (isPrepared ? prepared : undefined),
          } as unknown as PreparedAttachments,
          leases,
        },
        lambda,
        () => 'prepare-attachment',
      ),
    );
    const end = (index: number) => {
      isPrepared = true;
      invoked[index]?.resolve({});
    };
    return { readers, invoked, end };
  }

  it('is prepared once, in two processes with eight replies each', async () => {
    const { readers, invoked, end } = openWorkers(2);
    const { signal } = new AbortController();
    const reading = Array.from({ length: 16 }, (_, index) => readers[index % 2]?.read(file, bounds, signal));
    await expect.poll(() => invoked.length).toBe(1);
    end(0);
    expect(await Promise.all(reading)).toEqual(reading.map(() => prepared));
    expect(invoked).toHaveLength(1);
  });

  it('is prepared for the others if the reply that needed it first ends', async () => {
    const { readers, invoked, end } = openWorkers(1);
    const first = new AbortController();
    const reading = [first.signal, new AbortController().signal].map((signal) =>
      readers[0]?.read(file, bounds, signal),
    );
    await expect.poll(() => invoked.length).toBe(1);
    first.abort(new Error('The reply has ended'));
    await expect(reading[0]).rejects.toThrow('The reply has ended');
    end(0);
    expect(await reading[1]).toEqual(prepared);
    expect(invoked).toHaveLength(1);
  });

  it('is not prepared once more by a process that has waited for its turn meanwhile', async () => {
    const turn = Promise.withResolvers<void>();
    const { readers, invoked, end } = openWorkers(1, turn.promise);
    const reading = readers[0]?.read(file, bounds, new AbortController().signal);
    // The lease has ended, and another process has prepared the file.
    end(0);
    turn.resolve();
    expect(await reading).toEqual(prepared);
    expect(invoked).toEqual([]);
  });

  it('is prepared by another process if the first one fails', async () => {
    const { readers, invoked, end } = openWorkers(2);
    const { signal } = new AbortController();
    const reading = readers.map((reader) => reader.read(file, bounds, signal));
    const outcomes = Promise.allSettled(reading);
    await expect.poll(() => invoked.length).toBe(1);
    invoked[0]?.reject(new Error('The bucket is down'));
    await expect.poll(() => invoked.length, { timeout: 5000 }).toBe(2);
    end(1);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
