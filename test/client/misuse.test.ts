import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  ChatBatchClient,
  type ClientOptions,
  toUIMessageStream,
  type UploadParams,
} from '#lib/client/index.ts';
import { listenLocally } from '#support/listen-locally.ts';

/** A client of a server of the test's own, with the paths of its requests. */
async function openServer(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<ClientOptions> = {},
) {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    respond(request, response);
  });
  const { url, close } = await listenLocally(server);
  onTestFinished(() => close());
  return { client: new ChatBatchClient({ baseUrl: url, apiKey: 'ak_x', retryDelay: 1, ...options }), paths };
}

const agent_id = crypto.randomUUID();
const message = { message: 'Hello', agent_id };

test('a text in place of an id, which could name another route, is not sent', async () => {
  const { client, paths } = await openServer((_request, response) =>
    response.end('{"data":{},"error_code":0}'),
  );
  const hostile = '../users?external_user_id=bob&x=' as unknown as number;
  for (const call of [
    () => client.chats.get(hostile),
    () => client.chats.delete(hostile),
    () => client.chats.update(hostile, { name: 'x' }),
    () => client.messages.send(hostile, message),
    () => client.messages.stream(hostile, message).finalMessage(),
    () => client.messages.resume(hostile, { response_id: 'resp_1' }).finalMessage(),
    () => client.messages.stop(hostile),
    () => client.messages.list(hostile),
    () => client.messages.feedback(1, hostile, { type: 'sys_helpful' }),
    () => client.messages.feedback(hostile, 1, { type: 'sys_helpful' }),
  ])
    await expect((async () => await call())()).rejects.toThrow('is not the id of a chat or a message');
  expect(paths).toEqual([]);
});

test('values that cannot be sent are errors at once, and no lost connections', async () => {
  const { client, paths } = await openServer((_request, response) => response.destroy());
  const keys = ['', 'ключ', 'x'.repeat(256)];
  for (const idempotencyKey of keys) {
    const rejected = { name: 'ChatBatchError', message: expect.stringContaining('ASCII') };
    const create = async () => await client.chats.create({ name: 'x', agent_id }, { idempotencyKey });
    await expect(create()).rejects.toMatchObject(rejected);
    const requests = [{ custom_id: 'a', message: 'x' }];
    const submit = client.batches.submitAndWait({ agent_id, requests }, { idempotencyKey });
    await expect(submit).rejects.toMatchObject(rejected);
  }
  const name = 1n as unknown as string;
  await expect(client.chats.create({ name, agent_id })).rejects.toThrow('BigInt');
  const stream = new ReadableStream() as unknown as Blob;
  const named: UploadParams = { name: 'a.txt' };
  await expect(client.files.upload(stream, named)).rejects.toThrow('must be a File, a Blob or bytes');
  expect(paths).toEqual([]);
  for (const baseUrl of [
    'localhost:3000',
    'ftp://x/api',
    'http://u:p@x',
    'http://x?y',
    'http://x#y',
    'http://x ',
    'http:/x',
    'http:x',
    'http:\\\\x',
    'http://x\n',
  ])
    expect(() => new ChatBatchClient({ baseUrl, apiKey: 'ak_x' }), baseUrl).toThrow('baseUrl must be');
});

test('a page of another server is no stream, and is not read once more', async () => {
  const { client, paths } = await openServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<html>'),
  );
  const reply = client.messages.stream(1, { ...message, resumable: true });
  await expect(reply.finalMessage()).rejects.toThrow('is no stream of this service');
  expect(paths).toHaveLength(1);
});

test('times without an end are no times of zero', async () => {
  const { client } = await openServer((_request, response) => response.end('{"data":[],"error_code":0}'));
  expect(await client.agents.list({ timeout: Number.POSITIVE_INFINITY })).toEqual([]);
  expect(await client.agents.list({ timeout: 2 ** 31 })).toEqual([]);
});

test.each(['before the response', 'while the stream is silent'])(
  'a page that goes away %s ends the connection',
  async (when) => {
    const closed = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const { client } = await openServer((_request, response) => {
      response.once('close', closed.resolve);
      if (when === 'while the stream is silent')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': waiting\n\n');
      reached.resolve();
    });
    const reader = toUIMessageStream(client.messages.stream(1, message)).getReader();
    const reading = reader.read();
    await reached.promise;
    await reader.cancel();
    await closed.promise;
    expect((await reading).done).toBe(true);
  },
);

test('an abort ends a stream whose events have all come', async () => {
  const { client } = await openServer((_request, response) => {
    const events = [1, 2, 3].map((sequence_number) => ({
      type: 'response.output_text.delta',
      ...{ response_id: 'resp_1', chat_id: 1, sequence_number, delta: 'x' },
    }));
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${text}data: [DONE]\n\n`);
  });
  const controller = new AbortController();
  const seen: number[] = [];
  const read = async () => {
    for await (const event of client.messages.stream(1, message, { signal: controller.signal })) {
      seen.push(event.sequence_number);
      controller.abort(new Error('enough'));
    }
  };
  await expect(read()).rejects.toThrow('enough');
  expect(seen).toEqual([1]);
});

test('a callback that throws ends the waiting with its error, and no further batch is created', async () => {
  const batch = {
    id: 'b1',
    status: 'in_progress',
    total_requests: 1000,
    completed_requests: 0,
    failed_requests: 0,
  };
  const { client, paths } = await openServer((_request, response) =>
    response.end(JSON.stringify({ data: batch, error_code: 0 })),
  );
  const requests = Array.from({ length: 2500 }, (_, index) => ({ custom_id: `${index}`, message: 'x' }));
  for (const onProgress of [
    () => {
      throw new Error('my disk is full');
    },
    () => Promise.reject(new Error('my disk is full')),
  ])
    await expect(client.batches.submitAndWait({ agent_id, requests }, { onProgress })).rejects.toThrow(
      'my disk is full',
    );
  expect(paths.filter((path) => path === 'POST /batches')).toHaveLength(2);
});

test('an abort does not create a batch to cancel it', async () => {
  const { client, paths } = await openServer((_request, response) => {
    if (paths.length > 1) return response.end('{"data":{"id":"b1"},"error_code":0}');
    response.writeHead(429, { 'retry-after': '50' });
    response.end('{"data":null,"message":"Too many","error_code":10029}');
  });
  const controller = new AbortController();
  const requests = [{ custom_id: 'a', message: 'x' }];
  const options = { signal: controller.signal, cancelOnAbort: true };
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  const submitted = client.batches.submitAndWait({ agent_id, requests }, options);
  submitted.catch(() => undefined);
  // The client waits for a slot once it has a timer of the time that the service has named.
  await expect
    .poll(() => timers.mock.calls.some(([, delay = 0]) => delay >= 50_000 && delay < 70_000))
    .toBe(true);
  controller.abort(new Error('left'));
  await expect(submitted).rejects.toThrow('left');
  expect(paths).toEqual(['POST /batches']);
});

test('the cancellation after an abort ends, although the client waits for the rate limit without an end', async () => {
  const controller = new AbortController();
  const batch = { id: 'b1', status: 'in_progress', total_requests: 1 };
  const { client, paths } = await openServer(
    (request, response) => {
      if (request.method === 'GET') controller.abort(new Error('left'));
      if (!request.url?.endsWith('/cancel'))
        return response.end(JSON.stringify({ data: batch, error_code: 0 }));
      response.writeHead(429, { 'retry-after': '0' });
      response.end('{"data":null,"message":"Too many","error_code":10029}');
    },
    { waitForRateLimit: true },
  );
  const requests = [{ custom_id: 'a', message: 'x' }];
  const options = { signal: controller.signal, cancelOnAbort: true };
  await expect(client.batches.submitAndWait({ agent_id, requests }, options)).rejects.toThrow('left');
  expect(paths.filter((path) => path.endsWith('/cancel'))).toHaveLength(2);
});
