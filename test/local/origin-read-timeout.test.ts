import { EventEmitter, once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { limitSilence } from '#local/cloudfront/limit-silence.ts';
import { changeAssembly } from './fixture/change-assembly.ts';
import { type FixtureRun, startFixture } from './fixture/start-fixture.ts';

const page = '<h1>Error</h1>';
const limit = 120_000;

describe('an origin that may be silent for 120 s', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** Starts a request with the given head. The test is its origin. */
  async function openExchange(headers: Record<string, string> = {}) {
    const arrived = new EventEmitter<{ request: [IncomingMessage, ServerResponse] }>();
    const server = createServer((request, response) => {
      limitSilence(request, response, limit);
      arrived.emit('request', request, response);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const outgoing = openRequest({ port, host: '127.0.0.1', method: 'POST', agent: false, headers });
    outgoing.flushHeaders();
    const [request, response] = await once(arrived, 'request');
    const received = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    const forwarded = once(request.resume(), 'end');
    return { outgoing, response, received, forwarded };
  }

  it('has all of them before its first byte, and no more', async () => {
    const { outgoing, response, received, forwarded } = await openExchange();
    outgoing.end();
    await forwarded;
    // As the gateway does when it gets a request.
    response.setHeader('x-amzn-RequestId', 'id');
    vi.advanceTimersByTime(limit - 1);
    expect(response.headersSent).toBe(false);
    const gone = once(response, 'close');
    vi.advanceTimersByTime(1);
    const [incoming] = await received;
    expect([incoming.statusCode, incoming.headers['content-type']]).toEqual([504, 'text/html']);
    expect(incoming.headers).not.toHaveProperty('x-amzn-requestid');
    expect(await text(incoming)).toBe(page);
    await gone;
    // As for a client that is gone.
    expect(response.writableEnded).toBe(false);
  });

  it('that responds too late changes nothing', async () => {
    const { outgoing, response, received, forwarded } = await openExchange();
    outgoing.end();
    await forwarded;
    vi.advanceTimersByTime(limit);
    response.writeHead(200, { 'Content-Length': 2 });
    response.write('ok');
    response.end();
    const [incoming] = await received;
    expect([incoming.statusCode, await text(incoming)]).toEqual([504, page]);
  });

  it('has them again after each part, and then loses the connection', async () => {
    const { outgoing, response, received, forwarded } = await openExchange();
    outgoing.end();
    await forwarded;
    vi.advanceTimersByTime(limit - 1);
    response.write('one ');
    const [incoming] = await received;
    const reading = text(incoming);
    for (const part of ['two ', 'three ']) {
      vi.advanceTimersByTime(limit - 1);
      expect(response.destroyed).toBe(false);
      response.write(part);
    }
    vi.advanceTimersByTime(limit - 1);
    expect(response.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(response.destroyed).toBe(true);
    await expect(reading).rejects.toThrow('aborted');
  });

  it('that has ended in time is not cut', async () => {
    const { outgoing, response, received, forwarded } = await openExchange();
    outgoing.end();
    await forwarded;
    response.end('all');
    const [incoming] = await received;
    expect(await text(incoming)).toBe('all');
    await vi.advanceTimersByTimeAsync(limit);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits for a request that takes longer: the time starts with its last byte', async () => {
    const { outgoing, response, received, forwarded } = await openExchange({ 'Content-Length': '2' });
    outgoing.write('o');
    vi.advanceTimersByTime(10 * limit);
    expect(response.headersSent).toBe(false);
    outgoing.end('k');
    await forwarded;
    vi.advanceTimersByTime(limit - 1);
    expect(response.headersSent).toBe(false);
    vi.advanceTimersByTime(1);
    const [incoming] = await received;
    expect(incoming.statusCode).toBe(504);
    incoming.resume();
  });

  it('is not silent while its client does not read', async () => {
    const { outgoing, response, received, forwarded } = await openExchange();
    outgoing.end();
    await forwarded;
    const [incoming] = await Promise.all([received.then(([first]) => first.pause()), response.write('x')]);
    const part = 'x'.repeat(1024 * 1024);
    // Until the buffers of both sockets are full.
    while (!response.writableNeedDrain) {
      response.write(part);
      await new Promise(setImmediate);
    }
    vi.advanceTimersByTime(10 * limit);
    expect(response.destroyed).toBe(false);
    const drained = once(response, 'drain');
    incoming.resume();
    await drained;
    vi.advanceTimersByTime(limit - 1);
    expect(response.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(response.destroyed).toBe(true);
    incoming.on('error', () => undefined);
  });
});

describe('a distribution', () => {
  let run: FixtureRun;
  let assembly: string;
  let web: string;
  afterEach(() => void vi.restoreAllMocks());
  afterAll(async () => {
    await run.close();
    await rm(assembly, { recursive: true });
  });

  const seconds = 77;
  /** Resolves with what ends the silence of the next request, when its time starts. */
  function nextExpiry(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    const start = globalThis.setTimeout;
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((call: () => void, milliseconds: number) => {
      if (milliseconds === seconds * 1000) resolve(call);
      return start(call, milliseconds);
    }) as typeof start);
    return promise;
  }

  it('has the read timeout of its template, and its own page for it', async () => {
    assembly = await changeAssembly('Web', (resources) => {
      for (const { Type, Properties = {} } of Object.values(resources)) {
        if (Type === 'AWS::Lambda::WebFunctionRevision')
          Object.assign(Properties.ServiceConfig as object, { TimeoutSeconds: 900 });
        if (Type !== 'AWS::CloudFront::Distribution') continue;
        const { Origins } = Properties.DistributionConfig as { Origins: { CustomOriginConfig: object }[] };
        for (const { CustomOriginConfig } of Origins)
          Object.assign(CustomOriginConfig, { OriginReadTimeout: seconds });
      }
    });
    run = await startFixture({ assembly });
    web = `${new URL(run.url).origin}/live/web`;
    const expiry = nextExpiry();
    const responding = fetch(`${web}/silent`, { method: 'POST', body: 'x' });
    (await expiry)();
    const response = await responding;
    expect([response.status, response.headers.get('content-type')]).toEqual([504, 'text/html']);
    // Nothing of the response headers policy, nor of Lambda's own 504.
    expect([response.headers.get('vary'), response.headers.get('lambda-web-error-type')]).toEqual([
      null,
      null,
    ]);
    expect(await response.text()).toBe(page);
  });

  it('breaks the connection of an origin that stops in the middle of its response', async () => {
    const expiry = nextExpiry();
    const response = await fetch(`${web}/parts`, { method: 'POST' });
    expect(response.status).toBe(200);
    (await expiry)();
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('goes on afterwards', async () => {
    expect((await fetch(`${web}/x`)).status).toBe(201);
  });
});
