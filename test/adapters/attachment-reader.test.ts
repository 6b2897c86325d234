import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it, onTestFinished } from 'vitest';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import type { FileStore } from '#domain/files/file-store.ts';
import type { PreparedAttachments } from '#domain/files/prepared-attachments.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

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
  await new Promise<void>((listening) => lambda.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void lambda.close());
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
      endpoint: `http://127.0.0.1:${(lambda.address() as AddressInfo).port}`,
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
