import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, vi } from 'vitest';
import { readResponseHeadersPolicy } from '#local/cloudfront/response-headers-policy.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { clientOptions } from './fixture/start-background.ts';
import { startFixture } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

const lines: string[] = [];
const assembly = await synthesizeFixture('Web');
const run = closeAfterTests(await startFixture({ assembly, onLog: ({ line }) => lines.push(line) }));
const front = new URL(run.url).origin;

interface Delivered {
  method: string;
  url: string;
  headers: Record<string, string>;
  bytes: number;
  color: string;
}
const requestServer = async (path: string, init?: RequestInit): Promise<Delivered> =>
  (await (await fetch(front + path, init)).json()) as Delivered;

const secretValue = async (): Promise<string | undefined> => {
  const client = new SecretsManagerClient(clientOptions(run.endpoints.secretsmanager));
  return (await client.send(new GetSecretValueCommand({ SecretId: run.outputs.SecretArn }))).SecretString;
};

describe('a distribution', () => {
  it('is the address of the run, and the gateway has one of its own', async () => {
    expect(run.url).toBe(`${front}/live`);
    expect(run.endpoints.gateway).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/live$/);
    expect(run.endpoints.gateway).not.toBe(run.url);
    expect((await fetch(`${run.endpoints.gateway}/direct`)).status).toBe(200);
  });

  it('passes on to the gateway what no pattern claims, as the gateway’s own host, with what its function set', async () => {
    const response = await fetch(`${run.url}/a/b?c=d`, {
      method: 'POST',
      body: 'hello',
      headers: { 'x-own': 'kept', 'X-Secret': 'forged', 'x-asked-for': 'forged' },
    });
    const { event } = (await response.json()) as {
      event: { path: string; body: string; headers: Record<string, string> };
    };
    expect(event).toMatchObject({ path: '/a/b', body: 'hello', queryStringParameters: { c: 'd' } });
    const headers = Object.fromEntries(
      Object.entries(event.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect(headers).toMatchObject({
      host: 'localapi00.execute-api.us-east-1.amazonaws.com',
      'x-own': 'kept',
      'x-asked-for': `${new URL(front).host}/live/a/b`,
      'x-secret': await secretValue(),
    });
  });

  it('passes on to the web function what its pattern claims', async () => {
    const delivered = await requestServer('/live/web/deep/er?x=1', { method: 'PUT', body: 'x'.repeat(1000) });
    expect(delivered).toMatchObject({
      method: 'PUT',
      url: '/live/web/deep/er?x=1',
      bytes: 1000,
      color: 'blue',
    });
    expect(delivered.headers).toMatchObject({
      host: expect.stringMatching(/\.lambda-web\.us-east-1\.on\.aws$/),
      'x-asked-for': `${new URL(front).host}/live/web/deep/er`,
      'x-secret': await secretValue(),
      'lambda-web-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await requestServer('/read/a.txt')).url).toBe('/read/a.txt');
    const { status, headers } = await fetch(`${front}/live/web/x`);
    expect({ status, by: headers.get('x-answered-by') }).toEqual({ status: 201, by: 'the server' });
  });

  it('rejects a URL of more than 8,192 bytes, and a head of more than 32,768, with 413', async () => {
    /** The response to a head of so many bytes, with a URL of so many. */
    const statusOf = async (urlBytes: number, headBytes: number): Promise<unknown> => {
      const socket = connect(Number(new URL(front).port), '127.0.0.1');
      const start = `GET ${'/live/web/'.padEnd(urlBytes, 'x')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
      const filler = headBytes - start.length - 'X-Filler: \r\n\r\n'.length;
      socket.write(`${start}X-Filler: ${'x'.repeat(filler)}\r\n\r\n`);
      return Number((await text(socket)).split(' ', 2)[1]);
    };
    expect(await statusOf(8193, 9000)).toBe(413);
    expect(await statusOf(100, 32_769)).toBe(413);
    // CloudFront forwards these requests, and the server of the web function rejects their headers.
    expect([await statusOf(8192, 9000), await statusOf(100, 32_768)]).toEqual([431, 431]);
  });

  it('refuses by itself a method that a behaviour does not allow', async () => {
    expect((await fetch(`${front}/read/a.txt`, { method: 'POST' })).status).toBe(403);
  });
});

describe('a response headers policy', () => {
  const policyHeaders = async (path: string, init: RequestInit = {}) => {
    const { headers } = await fetch(front + path, init);
    return Object.fromEntries(
      [...headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-')),
    );
  };
  const from = (origin: string) => ({ headers: { Origin: origin } });
  const readable = (origin: string) => ({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'x-answered-by, retry-after',
    vary: 'Origin',
  });

  it.each(['/live/direct', '/live/web/x'])('says who asks, if it is allowed: %s', async (path) => {
    for (const origin of ['https://a.example', 'https://b.example:8443'])
      expect(await policyHeaders(path, from(origin))).toEqual(readable(origin));
    for (const origin of ['https://b.example', 'http://a.example', 'https://a.example.org', 'null'])
      expect(await policyHeaders(path, from(origin))).toEqual({ vary: 'Origin' });
    expect(await policyHeaders(path)).toEqual({ vary: 'Origin' });
  });

  it('says in a preflight what may be sent, and in no other response', async () => {
    const requested = { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PATCH' };
    expect(await policyHeaders('/live/web/x', { method: 'OPTIONS', headers: requested })).toEqual({
      ...readable('https://a.example'),
      'access-control-allow-methods': 'GET, PATCH',
      'access-control-allow-headers': 'x-key, content-type',
      'access-control-max-age': '60',
    });
    expect(await policyHeaders('/live/web/x', { method: 'POST', headers: requested })).toEqual(
      readable('https://a.example'),
    );
  });

  it('goes before what the origin says', async () => {
    expect(await policyHeaders('/live/web/own', from('https://a.example'))).toEqual(
      readable('https://a.example'),
    );
  });

  it('names who asks also on an error that is cached', async () => {
    for (const origin of ['https://a.example', 'https://b.example:8443'])
      expect(await policyHeaders('/live/web/cached/status/404', from(origin))).toEqual(readable(origin));
  });

  it('removes headers of the origin, and of Lambda itself', async () => {
    const headersOf = async (path: string) => (await fetch(front + path)).headers;
    for (const path of ['/live/web/x', '/live/web/cached/status/404', '/live/web/cached/status/404'])
      expect([path, (await headersOf(path)).get('x-internal')]).toEqual([path, null]);
    expect((await headersOf('/live/web/silent')).get('lambda-web-error-type')).toBeNull();
    expect((await headersOf('/live/web/x')).get('lambda-web-logstream')).toBeNull();
    expect((await headersOf('/live/web/x')).get('x-answered-by')).toBe('the server');
  });

  it('is of the behaviours that name it alone', async () => {
    expect(await policyHeaders('/read/a.txt', from('https://a.example'))).toEqual({});
    const { headers } = await fetch(`${front}/read/a.txt`);
    expect(headers.get('x-internal')).toBe('of the server');
    expect(headers.get('lambda-web-logstream')).toMatch(/^local\/\d+$/);
    expect(headers.get('lambda-web-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  const cors = {
    AccessControlAllowCredentials: false,
    AccessControlAllowHeaders: { Items: [] },
    AccessControlAllowMethods: { Items: ['GET'] },
    AccessControlAllowOrigins: { Items: ['*'] },
    OriginOverride: true,
  };
  it.each([
    [{ SecurityHeadersConfig: {} }, 'SecurityHeadersConfig cannot run locally'],
    [{ CorsConfig: { ...cors, AccessControlAllowOrigins: { Items: ['https://*.example'] } } }, 'pattern'],
    [{ CorsConfig: { ...cors, AccessControlAllowOrigins: { Items: ['a.example'] } } }, 'scheme'],
    [{ CorsConfig: { ...cors, AccessControlAllowMethods: { Items: ['ALL'] } } }, 'ALL'],
    [{ CorsConfig: { ...cors, AccessControlAllowCredentials: true } }, 'credentials'],
    [{ CorsConfig: { ...cors, OriginOverride: false } }, 'override'],
    [{ CustomHeadersConfig: { Items: [{ Header: 'a', Value: 'b', Override: false }] } }, 'override'],
    [
      {
        CustomHeadersConfig: { Items: [{ Header: 'Vary', Value: 'Origin', Override: true }] },
        RemoveHeadersConfig: { Items: [{ Header: 'vary' }] },
      },
      'removes and sets vary',
    ],
    [
      { CorsConfig: cors, RemoveHeadersConfig: { Items: [{ Header: 'Access-Control-Max-Age' }] } },
      'removes and sets access-control-max-age',
    ],
  ])('that says more stops the start: %j', (change, problem) => {
    const resource = {
      logicalId: 'Headers',
      type: 'AWS::CloudFront::ResponseHeadersPolicy',
      properties: { ResponseHeadersPolicyConfig: { Name: 'headers', ...change } },
    };
    expect(() => readResponseHeadersPolicy(resource, { resolve: (value) => value })).toThrow(problem);
  });
});

describe('a web function', () => {
  it('takes requests side by side, of any length, in pieces', async () => {
    const body = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let index = 0; index < 16; index += 1) controller.enqueue(new Uint8Array(1024 * 1024));
          controller.close();
        },
      });
    const deliveries = Array.from({ length: 4 }, () =>
      requestServer('/live/web/large', { method: 'POST', body: body(), duplex: 'half' }),
    );
    expect((await Promise.all(deliveries)).map(({ bytes }) => bytes)).toEqual(
      Array(4).fill(16 * 1024 * 1024),
    );
  });

  it('has nothing to do with the connection of its client, nor the client with the one to it', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { Connection: 'X-Hop', 'X-Hop': 'of the client', TE: 'trailers', 'X-End': 'kept' };
    request(`${front}/live/web/hop`, { headers }, resolve).on('error', reject).end();
    const response = await promise;
    expect(response.headers).toMatchObject({ 'keep-alive': 'timeout=350', 'x-answered-by': 'the server' });
    expect(response.headers.connection).toBe('keep-alive');
    expect(response.headers).not.toHaveProperty('x-hop');
    const delivered = (await json(response)) as Delivered;
    expect(delivered.headers).toMatchObject({ 'x-end': 'kept', connection: 'keep-alive' });
    expect(delivered.headers).not.toHaveProperty('x-hop');
    expect(delivered.headers).not.toHaveProperty('te');
  });

  it('is told when its client leaves', async () => {
    const sending = request(`${front}/live/web/leave`, { method: 'POST', headers: { 'Content-Length': 10 } });
    sending.on('error', () => {});
    sending.write('half');
    await vi.waitFor(() => expect(lines).toContain('receiving'), 3000);
    sending.destroy();
    await vi.waitFor(() => expect(lines).toContain('closed, complete: false'), 3000);
  });

  it('that says nothing is given up when its time has passed', async () => {
    expect((await fetch(`${front}/live/web/silent`)).status).toBe(504);
  });

  it('that ends fails what it was doing, and is started again for the next', async () => {
    expect((await fetch(`${front}/live/web/exit`)).status).toBe(502);
    // Not a GET: the distribution would cache the 502 of an attempt that comes too early.
    const repeated = () => fetch(`${front}/live/web/again`, { method: 'POST' });
    await vi.waitFor(async () => expect((await repeated()).status).toBe(201), 60_000);
  });

  it('is not joined by functions that only a deployment calls', () => {
    expect(Object.keys(run.physicalIds).filter((id) => /^Custom.*Handler|S3ObjectCopy/.test(id))).not.toEqual(
      [],
    );
    const names = run.workers().map(({ functionName }) => functionName);
    expect(names.filter((name) => !name.includes('Server'))).toEqual([expect.stringContaining('Echo')]);
  });
});
