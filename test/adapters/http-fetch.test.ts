import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { constants, createBrotliCompress, createDeflate, createGzip, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { httpFetch } from '#agents/models/http/http-fetch.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';

let respond: RequestListener;
const server = createServer((request, response) => respond(request, response));
const url = `${closeAfterTests(await listenLocally(server)).url}/v1/chat?version=1`;

const listen = async (listener: Server): Promise<number> => {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
};

afterEach(() => vi.useRealTimers());

const failureOf = (call: Promise<unknown>): Promise<Error & { cause?: NodeJS.ErrnoException }> =>
  call.then(
    () => expect.unreachable('It should have failed'),
    (error) => error,
  );

it('sends what it is given, and gives what comes back', async () => {
  let seen: Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { body?: string } = { headers: {} };
  respond = async (request, response) => {
    const { method, url: path, headers } = request;
    seen = { method, url: path, headers, body: await text(request) };
    response.writeHead(202, 'Fine', [
      ['x-note', 'one'],
      ['x-note', 'two'],
      ['content-type', 'text/plain'],
    ] as unknown as string[]);
    response.end('Grüße');
  };
  const response = await httpFetch(new URL(url), {
    method: 'POST',
    headers: { Authorization: 'Bearer key' },
    body: 'Wörter',
  });
  expect(seen).toMatchObject({
    method: 'POST',
    url: '/v1/chat?version=1',
    headers: { authorization: 'Bearer key', 'content-length': '7', 'accept-encoding': 'identity' },
    body: 'Wörter',
  });
  expect(response).toMatchObject({ status: 202, ok: true, statusText: 'Fine' });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-note': 'one, two',
    'content-type': 'text/plain',
  });
  expect(await response.text()).toBe('Grüße');
});

it('takes an answer without a body', async () => {
  respond = (_request, response) => void response.writeHead(204).end();
  const response = await httpFetch(url);
  expect(response).toMatchObject({ status: 204, body: null });
});

it.each([307, 308])('repeats a request on the same server after a %i', async (status) => {
  const received: string[] = [];
  respond = async (request, response) => {
    const { authorization, 'content-length': length } = request.headers;
    received.push(`${request.url} ${authorization} ${length} ${await text(request)}`);
    if (received.length === 1) response.writeHead(status, { location: '/elsewhere' }).end();
    else response.end('found');
  };
  const headers = { Authorization: 'Bearer key' };
  const body = { [Symbol.asyncIterator]: () => Readable.from([Buffer.from('{}')])[Symbol.asyncIterator]() };
  const found = await httpFetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': '2' },
    body: body as never,
  });
  expect(await found.text()).toBe('found');
  expect(received).toEqual(['/v1/chat?version=1 Bearer key 2 {}', '/elsewhere Bearer key 2 {}']);
});

it.each([
  ['to another server: the key is for one', 308, 'http://localhost:1/v1'],
  ['without an address', 308, undefined],
  ['to no address', 307, 'http://['],
  ['that changes the method', 303, '/elsewhere'],
])('follows no redirect %s', async (_, status, location) => {
  let received = 0;
  respond = (_request, response) => {
    received += 1;
    response.writeHead(status, location === undefined ? {} : { location }).end();
  };
  expect(await httpFetch(url, { method: 'POST', body: '{}' })).toMatchObject({ status, ok: false });
  expect(received).toBe(1);
});

it('follows three redirects of a call, and not the fourth', async () => {
  let received = 0;
  respond = (_request, response) => {
    received += 1;
    response.writeHead(308, { location: '/again' }).end();
  };
  expect(await httpFetch(url)).toMatchObject({ status: 308 });
  expect(received).toBe(4);
});

describe('an answer, also a compressed one, which nobody has asked for', () => {
  const encoders = {
    identity: () => new PassThrough(),
    gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
    'X-GZIP': () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
    deflate: () => createDeflate({ flush: constants.Z_SYNC_FLUSH }),
    br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  };

  it.each(Object.entries(encoders))(
    'by %s is given piece by piece as it comes',
    async (encoding, encoder) => {
      const encoded = encoder();
      respond = (_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding });
        encoded.pipe(response);
        encoded.write('one');
      };
      const { body } = await httpFetch(url);
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
      expect(await reader?.read()).toEqual({ done: false, value: 'one' });
      encoded.end('two');
      expect(await reader?.read()).toEqual({ done: false, value: 'two' });
      expect(await reader?.read()).toEqual({ done: true, value: undefined });
    },
  );

  it('that is cut is an error', async () => {
    const bytes = gzipSync('a'.repeat(1000)).subarray(0, -20);
    respond = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes);
    expect(await failureOf((await httpFetch(url)).text())).toMatchObject({ name: 'TypeError' });
  });
});

it('keeps a connection for the next call', async () => {
  const ports: (number | undefined)[] = [];
  respond = (request, response) => {
    ports.push(request.socket.remotePort);
    response.end('done');
  };
  for (let call = 0; call < 3; call += 1) await (await httpFetch(url)).text();
  expect(new Set(ports).size).toBe(1);
});

it('lets no more come than is read', async () => {
  const chunk = Buffer.alloc(64 * 1024);
  let sent = 0;
  const arrived = Promise.withResolvers<IncomingMessage>();
  respond = (request, response) => {
    arrived.resolve(request);
    const send = (): void => {
      while (sent < 64 * 1024 * 1024 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', send);
      }
      response.end();
    };
    send();
  };
  const { body } = await httpFetch(url);
  const reader = body?.getReader();
  await reader?.read();
  await vi.waitFor(
    async () => {
      const before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(sent).toBe(before);
    },
    { timeout: 5000 },
  );
  // Only the buffers of both ends and of the operating system are filled.
  expect(sent).toBeLessThan(16 * 1024 * 1024);
  await reader?.cancel();
  const { socket } = await arrived.promise;
  await vi.waitFor(() => expect(socket.destroyed).toBe(true), 60_000);
});

it('tells of a connection that is cut within the answer, behind what has come', async () => {
  respond = (request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half', () => request.socket.destroy());
  };
  const reader = (await httpFetch(url)).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('half');
  const error = await failureOf(Promise.resolve(reader?.read()));
  expect(error).toMatchObject({ name: 'TypeError', message: 'terminated', cause: { code: 'ECONNRESET' } });
});

it('tells of a server that is not there', async () => {
  const gone = createTcpServer();
  const port = await listen(gone);
  gone.close();
  const error = await failureOf(httpFetch(`http://127.0.0.1:${port}/`));
  expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
});

it.each<[what: string, respond: (socket: Socket) => unknown, code?: string]>([
  ['end before the answer', (socket) => socket.destroy(), 'ECONNRESET'],
  ['answer that is no HTTP', (socket) => socket.end('Hello\r\n\r\n')],
  [
    'answer that changes the protocol',
    (socket) => socket.write('HTTP/1.1 101 Other\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
    'ECONNRESET',
  ],
  ['status', (socket) => socket.write('HTTP/1.1 999 Odd\r\ncontent-length: 5\r\n\r\n')],
])('tells of a strange %s, and keeps no connection', async (_what, respondOn, code) => {
  const strange = createTcpServer((socket) => socket.once('data', () => respondOn(socket)));
  const closed = once(strange, 'connection').then(([socket]) => once(socket as Socket, 'close'));
  const error = await failureOf(httpFetch(`http://127.0.0.1:${await listen(strange)}/`));
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ message: 'fetch failed', ...(code !== undefined && { cause: { code } }) });
  await closed;
  strange.close();
});

it('waits ten seconds for a connection that does not come to stand', async () => {
  const silent = createTcpServer();
  const accepted = once(silent, 'connection');
  const port = await listen(silent);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const failed = failureOf(httpFetch(`https://127.0.0.1:${port}/`));
  const [socket] = (await accepted) as [Socket];
  let closed = false;
  void failed.then(() => {
    closed = true;
  });
  await vi.advanceTimersByTimeAsync(9999);
  expect(closed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await failed).toMatchObject({ message: 'fetch failed', cause: { code: 'ETIMEDOUT' } });
  socket.destroy();
  silent.close();
});

it('has time for an answer once the connection stands', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const open = Promise.withResolvers<ServerResponse>();
  respond = (_request, response) => open.resolve(response);
  const fetched = httpFetch(url);
  const response = await open.promise;
  await vi.advanceTimersByTimeAsync(80_000);
  response.end('late');
  expect(await (await fetched).text()).toBe('late');
});

it('is not begun under a signal that has aborted', async () => {
  respond = () => expect.unreachable('Nobody should ask');
  const reason = new Error('given up');
  expect(await failureOf(httpFetch(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
});

it.each(['before the answer', 'within it'])(
  'ends with its signal %s, and its connection too',
  async (when) => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    respond = (request, response) => {
      if (when === 'within it') response.write('half');
      arrived.resolve(request);
    };
    const abort = new AbortController();
    const reason = new Error('given up');
    const fetched = httpFetch(url, { signal: abort.signal });
    const whole = fetched.then((response) => response.text());
    whole.catch(() => undefined);
    const { socket } = await arrived.promise;
    if (when === 'within it') await fetched;
    abort.abort(reason);
    expect(await failureOf(whole)).toBe(reason);
    await vi.waitFor(() => expect(socket.destroyed).toBe(true), 60_000);
  },
);

describe('an answer that is let go of', () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  beforeAll(() => void process.on('uncaughtException', note));
  afterAll(() => void process.off('uncaughtException', note));
  beforeEach(() => void uncaught.splice(0));
  const chunks = ['one', 'two', 'three'];
  /** Sends all chunks; without `hasEnd` the response stays open. */
  const sendChunks = (response: ServerResponse, hasEnd: boolean): void => {
    for (const chunk of chunks) response.write(chunk);
    if (hasEnd) response.end();
  };
  const resolve = () => new Promise((resolve) => setTimeout(resolve, 50));

  it.each([
    ['at once', 'whole'],
    ['behind its first piece', 'with more to come'],
  ])('%s, %s, is no error of anybody', async (when, what) => {
    respond = (_request, response) => sendChunks(response, what === 'whole');
    for (let round = 0; round < 5; round += 1) {
      const { body } = await httpFetch(url);
      if (what === 'whole') await resolve();
      const reader = body?.getReader();
      if (when !== 'at once') await reader?.read();
      await reader?.cancel();
      await resolve();
    }
    expect(uncaught).toEqual([]);
  });

  it('by its signal when it has arrived whole is not a shorter answer', async () => {
    respond = (_request, response) => sendChunks(response, true);
    const abort = new AbortController();
    const response = await httpFetch(url, { signal: abort.signal });
    await resolve();
    const reason = new Error('given up');
    abort.abort(reason);
    expect(await failureOf(response.text())).toBe(reason);
    expect(uncaught).toEqual([]);
  });
});

describe('a body of chunks', () => {
  const chunk = Buffer.alloc(1024 * 1024, 'a');

  it('is not read faster than the server reads, and no longer after an abort', async () => {
    const abort = new AbortController();
    const [reads, paused, ended] = [vi.fn(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    respond = (request) => void request.pause();
    async function* body() {
      try {
        for (let index = 0; index < 1000; index += 1) {
          reads();
          clearTimeout(timer);
          timer = setTimeout(paused.resolve, 50);
          yield chunk;
        }
      } finally {
        ended.resolve();
      }
    }
    let timer: NodeJS.Timeout | undefined;
    const failed = failureOf(httpFetch(url, { method: 'POST', body: body(), signal: abort.signal }));
    await paused.promise;
    // The system's buffers take some megabytes.
    expect(reads.mock.calls.length).toBeLessThan(100);
    abort.abort(new Error('Enough'));
    expect(await failed).toMatchObject({ message: 'Enough' });
    await ended.promise;
  });

  it('that breaks off fails with its error', async () => {
    respond = (request) => void request.resume();
    async function* body() {
      yield chunk;
      throw new Error('No more');
    }
    const error = await failureOf(httpFetch(url, { method: 'POST', body: body() }));
    expect(error).toMatchObject({ message: 'fetch failed', cause: { message: 'No more' } });
  });
});
