import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  brotliCompressSync,
  createBrotliCompress,
  createDeflate,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboundRules } from '#adapters/outbound/addresses.ts';
import { type OutboundRequest, sendOutbound } from '#adapters/outbound/send-outbound.ts';
import type { OutboundFailure } from '#domain/platform/failures.ts';
import { certificate } from '#support/certificate.ts';

// On an idle machine no test takes more than 3 s.

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(server: Server | ReturnType<typeof createSocketServer>, host = '127.0.0.1', port = 0) {
  await new Promise<void>((listening) => server.listen(port, host, listening));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  closing.push(
    () =>
      new Promise((closed) => {
        server.close(closed);
        for (const socket of sockets) socket.destroy();
      }),
  );
  const { port: given } = server.address() as AddressInfo;
  return { port: given, sockets };
}

/** A server that records its requests. */
async function serve(respond: RequestListener, host?: string, port?: number) {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.headers.host}${request.url}`);
    respond(request, response);
  });
  return { received, ...(await listen(server, host, port)) };
}

/** A server that writes raw bytes after the first data of each connection. */
async function serveBytes(respond: (socket: Socket) => void) {
  return listen(
    createSocketServer((socket) => {
      socket.once('data', () => respond(socket));
    }),
  );
}

const resolver = (responses: Record<string, string[][]>) => {
  const received: string[] = [];
  const resolve = async (host: string) => {
    received.push(host);
    const given = responses[host];
    const found = given && (given.length > 1 ? given.shift() : given[0]);
    if (found === undefined) throw new Error('ENOTFOUND');
    return found;
  };
  return { received, resolve };
};

const allowing = (port: number, more: Partial<OutboundRules> = {}): OutboundRules => ({
  allow: [{ host: '127.0.0.1', port }],
  denied: [],
  resolve: resolver({}).resolve,
  ...more,
});

const send = (url: string, rules: OutboundRules | undefined, more: Partial<OutboundRequest> = {}) =>
  sendOutbound({
    url: new URL(url),
    method: 'GET',
    rules,
    redirects: 5,
    times: { response: 20_000, whole: 20_000 },
    maxBytes: 1_000_000,
    signal: new AbortController().signal,
    ...more,
  });
/** A request to a server of this test, whose address is allowed. */
const sendTo = (port: number, more?: Partial<OutboundRequest>) =>
  send(`http://127.0.0.1:${port}/`, allowing(port), more);
const failure = (sent: Promise<unknown>) =>
  sent.then(
    () => 'answered',
    (error: OutboundFailure) => `${error.kind}: ${error.message}`,
  );

describe('the connection', () => {
  it('goes to the address that was checked, whatever the name resolves to a moment later', async () => {
    const checked = await serve((_request, response) => response.end('checked'));
    const other = await serve((_request, response) => response.end('other'), '127.0.0.2', checked.port);
    const { received, resolve } = resolver({ 'rebind.test': [['127.0.0.1'], ['127.0.0.2']] });
    const { body } = await send(`http://rebind.test:${checked.port}/`, allowing(checked.port, { resolve }));
    expect(String(body)).toBe('checked');
    expect(checked.received).toEqual([`GET rebind.test:${checked.port}/`]);
    expect(other.received).toEqual([]);
    expect(received).toEqual(['rebind.test']);
  });

  it('never goes inside after a public first answer', async () => {
    const inside = await serve((_request, response) => response.end('inside'));
    const { resolve } = resolver({ 'rebind.test': [['203.0.114.1'], ['127.0.0.1']] });
    const rules = { allow: [], denied: [], resolve };
    const times = { response: 300, whole: 300 };
    expect(await failure(send(`http://rebind.test:${inside.port}/`, rules, { times }))).toMatch(
      /^(late|unreachable): /,
    );
    expect(inside.received).toEqual([]);
    expect(inside.sockets.size).toBe(0);
  });

  it('is not made at all to an address that is not allowed', async () => {
    const { port, sockets, received } = await serve((_request, response) => response.end());
    const { resolve } = resolver({ 'inside.test': [['127.0.0.1']] });
    for (const host of ['127.0.0.1', '2130706433', 'inside.test', '[::ffff:127.0.0.1]'])
      expect(await failure(send(`http://${host}:${port}/`, { allow: [], denied: [], resolve }))).toBe(
        'forbidden: The address is not allowed',
      );
    expect(sockets.size).toBe(0);
    expect(received).toEqual([]);
  });

  it('over TLS holds the certificate against the name', async () => {
    const server = createTlsServer(certificate, (_request, response) => response.end('secret'));
    const { port } = await listen(server);
    const { resolve } = resolver({ 'named.test': [['127.0.0.1']], 'other.test': [['127.0.0.1']] });
    const rules = allowing(port, { resolve });
    const untrusted = "untrusted: The server's certificate is not valid for this address";
    const usual = getCACertificates('default');
    closing.push(async () => setDefaultCACertificates(usual));
    // The process that runs the tests may already trust the certificate, because the service of other tests does.
    const others = usual.filter((trusted) => trusted.trim() !== certificate.cert.trim());
    setDefaultCACertificates(others);
    expect(await failure(send(`https://named.test:${port}/`, rules))).toBe(untrusted);
    setDefaultCACertificates([...others, certificate.cert]);
    expect(String((await send(`https://named.test:${port}/`, rules)).body)).toBe('secret');
    expect(await failure(send(`https://other.test:${port}/`, rules))).toBe(untrusted);
    expect(await failure(send(`https://127.0.0.1:${port}/`, rules))).toBe(untrusted);
  });

  it('is closed when all is read', async () => {
    const { port, sockets } = await serve((_request, response) => response.end('read'));
    await sendTo(port);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it('that nobody takes is a failure without particulars', async () => {
    const { port } = await serve((_request, response) => response.end());
    await closing.pop()?.();
    expect(await failure(sendTo(port))).toBe('unreachable: The server cannot be reached');
  });
});

describe('redirects', () => {
  it.each([301, 303, 307, 308])('with status %i count too, and other statuses do not', async (status) => {
    const { port } = await serve((request, response) => {
      if (request.url === '/') response.writeHead(status, { Location: '/there' });
      else response.writeHead(300, { Location: '/nowhere' });
      response.end();
    });
    expect(await sendTo(port)).toMatchObject({ status: 300 });
  });

  const inside = 'forbidden: A redirect leads to an address that is not allowed';
  const malformed =
    'malformed: The address must be an http or https URL without a user name and password, blanks and backslashes';
  it.each([
    ['http://169.254.169.254/latest/meta-data/', inside],
    ['http://10.0.0.1/', inside],
    ['http://[::1]:1/', inside],
    ['//inside.test/', inside],
    ['file:///etc/passwd', malformed],
    ['http://user:word@8.8.8.8/', malformed],
    ['http://', 'broken: A redirect leads to an invalid address'],
  ])('to %s are not followed', async (location, expected) => {
    const { port } = await serve((_request, response) =>
      response.writeHead(302, { Location: location }).end(),
    );
    const { resolve } = resolver({ 'inside.test': [['10.0.0.1']] });
    expect(await failure(send(`http://127.0.0.1:${port}/`, allowing(port, { resolve })))).toBe(expected);
  });

  it('from https to http are not followed', async () => {
    const server = createTlsServer(certificate, (_request, response) =>
      response.writeHead(302, { Location: 'http://8.8.8.8/' }).end(),
    );
    const { port } = await listen(server);
    const { resolve } = resolver({ 'named.test': [['127.0.0.1']] });
    const usual = getCACertificates('default');
    closing.push(async () => setDefaultCACertificates(usual));
    setDefaultCACertificates([...usual, certificate.cert]);
    expect(await failure(send(`https://named.test:${port}/`, allowing(port, { resolve })))).toBe(
      'forbidden: A redirect leads from https to http',
    );
  });

  it('of a POST, or where none are wanted, are answers', async () => {
    const { port, received } = await serve((_request, response) =>
      response.writeHead(307, { Location: '/there' }).end('moved'),
    );
    const post = { method: 'POST' as const, body: Buffer.from('{}') };
    expect(await sendTo(port, post)).toMatchObject({ status: 307 });
    expect(await sendTo(port, { redirects: 0 })).toMatchObject({
      status: 307,
    });
    expect(received).toHaveLength(2);
  });
});

describe('what is sent', () => {
  it('to an address that an operator chose goes unchecked', async () => {
    const { port } = await serve((_request, response) => response.end('inside'));
    expect(String((await send(`http://127.0.0.1:${port}/`, undefined)).body)).toBe('inside');
  });
});

describe('a body', () => {
  const text = 'some text '.repeat(1000);
  const serveEncoded = (coding: string, bytes: Buffer) =>
    serve((_request, response) => response.writeHead(200, { 'Content-Encoding': coding }).end(bytes));
  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', Buffer.from(text)],
    ['deflate', Buffer.alloc(0)],
  ])('in %s is decompressed', async (coding, bytes) => {
    const { port } = await serveEncoded(coding, bytes);
    const { body } = await sendTo(port);
    expect(String(body)).toBe(bytes.length === 0 ? '' : text);
  });

  it.each([
    ['gzip', Buffer.from('no gzip at all')],
    ['gzip', gzipSync(text).subarray(0, 40)],
    ['br', Buffer.from('no brotli')],
    ['deflate', Buffer.from('xno deflate')],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['zstd', Buffer.from('zstd')],
  ])('that is no %s is broken', async (coding, bytes) => {
    const { port } = await serveEncoded(coding, bytes);
    expect(await failure(sendTo(port))).toMatch(/^broken: /);
  });

  it.each([
    ['gzip', createGzip],
    ['br', createBrotliCompress],
    ['deflate', createDeflate],
    ['identity', () => new PassThrough()],
  ])('in %s that is left after its start has its connection closed', async (coding, createEncoder) => {
    const closed = Promise.withResolvers<void>();
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Encoding': coding }).once('close', closed.resolve);
      const encoder = createEncoder();
      encoder.pipe(response);
      encoder.write(text);
      if ('flush' in encoder) encoder.flush();
    });
    const request = {
      ...{ url: new URL(`http://127.0.0.1:${port}/`), method: 'GET' as const, rules: allowing(port) },
      ...{ redirects: 0, times: { response: 600_000, whole: 600_000 }, maxBytes: 1_000_000 },
      signal: new AbortController().signal,
    };
    const { body } = await sendOutbound(request, async (_head, chunks) => {
      for await (const chunk of chunks) return chunk.length;
      return 0;
    });
    expect(body).toBeGreaterThan(0);
    await closed.promise;
  });

  const zeros = Buffer.alloc(100_000_000);
  it.each([
    ['gzip', () => gzipSync(zeros)],
    ['br', () => brotliCompressSync(zeros, { params: { 1: 1 } })],
    ['deflate', () => deflateSync(zeros)],
  ])('of 100 MB in a small %s is refused at the limit', async (coding, compress) => {
    const bytes = compress();
    expect(bytes.length).toBeLessThan(200_000);
    const { port } = await serveEncoded(coding, bytes);
    const before = process.memoryUsage().arrayBuffers;
    expect(await failure(sendTo(port))).toBe('too-large: The answer is larger than 1 MB');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
  });

  it('without end is refused at the limit, and its connection closed', async () => {
    let sent = 0;
    const { port, sockets } = await serve((_request, response) => {
      const more = () => {
        sent += 65_536;
        if (!response.destroyed) response.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    expect(await failure(sendTo(port))).toBe('too-large: The answer is larger than 1 MB');
    await expect.poll(() => sockets.size).toBe(0);
    expect(sent).toBeLessThan(20_000_000);
  });

  it('of endless gzip is refused too', async () => {
    const { port, sockets } = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(response);
      const more = () => {
        if (!response.destroyed) gzip.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    expect(await failure(sendTo(port))).toMatch(/^too-large: /);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it('that breaks off is a failure', async () => {
    const { port } = await serveBytes((socket) => {
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort');
    });
    expect(await failure(sendTo(port))).toMatch(/^unreachable: /);
  });
});

describe('an answer that is none', () => {
  it.each([
    ['other bytes', 'SSH-2.0-OpenSSH_9.6\r\n'],
    [
      'a switch to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n',
    ],
  ])('%s is broken', async (_what, bytes) => {
    const { port, sockets } = await serveBytes((socket) => socket.write(bytes));
    expect(await failure(sendTo(port))).toMatch(/^broken: /);
    await expect.poll(() => sockets.size).toBe(0);
  });

  it('headers without end are refused', async () => {
    const { port, sockets } = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => {
        if (socket.writable) socket.write(`X-More: ${'x'.repeat(1000)}\r\n`, more);
      };
      more();
    });
    expect(await failure(sendTo(port))).toBe("too-large: The answer's headers are larger than 32 KB");
    await expect.poll(() => sockets.size).toBe(0);
  });
});

describe('time', () => {
  const slow = { response: 1000, whole: 60_000 };
  const long = { response: 60_000, whole: 2000 };
  it.each([
    ['an answer', () => undefined, slow],
    ['the end of the headers', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nX-'), slow],
    [
      'an answer behind early ones',
      (socket: Socket) => {
        const more = () => {
          if (socket.writable) socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', () => setImmediate(more));
        };
        more();
      },
      slow,
    ],
    ['the end of a body', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nx'), long],
  ])('is up without %s', async (_what, say, times) => {
    const { port, sockets } = await serveBytes(say);
    expect(await failure(sendTo(port, { times }))).toBe(
      `timeout: It took longer than ${times === slow ? 1 : 2} seconds`,
    );
    await expect.poll(() => sockets.size).toBe(0);
  });

  it('is up in a name that does not resolve in time', async () => {
    const resolve = () => new Promise<string[]>(() => undefined);
    expect(
      await failure(send('http://slow.test/', { allow: [], denied: [], resolve }, { times: slow })),
    ).toBe('timeout: It took longer than 1 seconds');
  });

  it('covers all redirects together', async () => {
    const { port } = await serve((request, response) => {
      const next = { Location: `/${Number(request.url?.slice(1)) + 1}` };
      setTimeout(() => response.writeHead(302, next).end(), 500);
    });
    expect(await failure(send(`http://127.0.0.1:${port}/0`, allowing(port), { times: long }))).toBe(
      'timeout: It took longer than 2 seconds',
    );
  });

  it('is over at once when the caller gives up', async () => {
    const stop = new AbortController();
    const { port, sockets } = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nx');
      stop.abort(new Error('given up'));
    });
    await expect(sendTo(port, { signal: stop.signal })).rejects.toThrow('given up');
    await expect.poll(() => sockets.size).toBe(0);
  });
});
