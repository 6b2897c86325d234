import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exposedHeaders } from '#contract/headers.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import type { Service } from '#support/service.ts';
import { boundary, filePart, form } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const app = 'https://app.example.com';
const other = 'http://localhost:5173';
const foreign = 'https://evil.example.com';

const folder = await temporaryFolder('service-assemblies-');
const [several, one] = [join(folder, 'several'), join(folder, 'one')];
await Promise.all([
  synthesize(several, { corsOrigins: [app, other] }),
  synthesize(one, { corsOrigins: [app], webFunctions: 'none' }),
]);
const distributed = await useService({ assembly: several, maxConcurrency: 1 });
const plain = await useService({ assembly: one, maxConcurrency: 1 });
const tenant = await openTenant(distributed);
const chat = await tenant.createChat();
const { agentId: agent_id } = tenant;

const stages = [
  ['at a distribution', () => distributed],
  ['at the gateway', () => plain],
] as const;

const uploads = '/chats/upload-file';
const upload = form(filePart('a.txt', 'x'));

interface Call {
  origin?: string;
  key?: string | null;
  body?: object | Buffer;
}

function call(service: Service, path: string, { origin, key = tenant.apiKey, body }: Call = {}) {
  const isForm = body instanceof Buffer;
  return fetch(service.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(key !== null && { 'x-api-key': key }),
      ...(origin !== undefined && { Origin: origin }),
      ...(body && {
        'Content-Type': isForm ? `multipart/form-data; boundary=${boundary}` : 'application/json',
      }),
    },
    ...(body && { body: isForm ? (body as Buffer<ArrayBuffer>) : JSON.stringify(body) }),
  });
}

const preflight = (service: Service, path: string, origin: string): Promise<Response> =>
  fetch(service.baseUrl + path, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type,x-api-key',
    },
  });

const listOf = (text: string | null): string[] | undefined => text?.toLowerCase().split(/ ?, ?/).toSorted();

const corsHeadersOf = ({ headers }: Response) => ({
  origin: headers.get('access-control-allow-origin'),
  exposed: listOf(headers.get('access-control-expose-headers')),
  credentials: headers.get('access-control-allow-credentials'),
  vary: headers.get('vary'),
});

const readableBy = (origin: string) => ({
  origin,
  exposed: exposedHeaders.toSorted(),
  credentials: null,
  vary: 'Origin',
});

const preflightHeadersOf = ({ headers }: Response) => ({
  methods: listOf(headers.get('access-control-allow-methods')),
  headers: listOf(headers.get('access-control-allow-headers')),
  seconds: headers.get('access-control-max-age'),
});

/** Every kind of response that a page may get, from functions and from the gateway itself. */
const requests: [what: string, status: number, () => [string, Call?]][] = [
  ['a list', 200, () => ['/chats/published-agents']],
  ['a new chat', 200, () => ['/chats', { body: { name: 'Mine', agent_id } }]],
  ['a streamed reply', 200, () => [`/chats/${chat.id}/messages`, { body: { message: 'Hello', agent_id } }]],
  ['a rejection of a function', 400, () => ['/chats', { body: {} }]],
  ['a rejection of the gateway', 404, () => ['/nothing']],
  ['a missing key', 400, () => ['/chats', { key: null }]],
  ['a wrong key', 400, () => ['/chats', { key: 'ak_wrong' }]],
  ['an upload', 200, () => [uploads, { body: upload }]],
  ['a rejected upload', 400, () => [uploads, { body: form(filePart('a.exe', 'x')) }]],
  ['an upload with a wrong key', 400, () => [uploads, { key: 'ak_wrong', body: upload }]],
];

describe.each(stages)('%s', (_where, serviceOf) => {
  it.each(requests)('a page of an allowed origin may read %s', async (_what, status, requestOf) => {
    const [path, options] = requestOf();
    const response = await call(serviceOf(), path, { ...options, origin: app });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-request-id')).toBeTruthy();
    expect(corsHeadersOf(response)).toEqual(readableBy(app));
    // Lambda adds such headers to the responses of web functions.
    expect([...response.headers.keys()].filter((name) => name.startsWith('lambda-'))).toEqual([]);
    await response.body?.cancel();
  });

  it.each(['/chats', '/chats/1/messages', '/batches/b/cancel', uploads])(
    'a preflight of %s needs no key, and says what a page may send',
    async (path) => {
      const response = await preflight(serviceOf(), path, app);
      expect([response.status, await response.text()]).toEqual([204, '']);
      expect(corsHeadersOf(response)).toMatchObject({ origin: app, credentials: null, vary: 'Origin' });
      expect(preflightHeadersOf(response)).toEqual({
        methods: ['delete', 'get', 'patch', 'post'],
        headers: ['content-type', 'idempotency-key', 'x-api-key', 'x-external-user-id'],
        seconds: '600',
      });
    },
  );

  it('a preflight of a path that is none fails, which browsers take for a no', async () => {
    expect((await preflight(serviceOf(), '/nothing', app)).status).toBe(404);
  });
});

it.each(['/chats', uploads])(
  'each of several origins is named to itself, and none to another: %s',
  async (path) => {
    for (const [origin, named] of [
      [app, app],
      [other, other],
      [foreign, null],
    ] as const) {
      const received = await preflight(distributed, path, origin);
      expect([received.status, received.headers.get('access-control-allow-origin')]).toEqual([204, named]);
      const responded = await call(distributed, path, { origin, body: {} });
      expect(corsHeadersOf(responded)).toMatchObject({ origin: named, vary: 'Origin' });
    }
  },
);

it('one origin is named to everybody, so that no other may read', async () => {
  expect(corsHeadersOf(await call(plain, '/chats', { origin: foreign }))).toEqual(readableBy(app));
  expect(corsHeadersOf(await preflight(plain, '/chats', foreign))).toMatchObject({ origin: app });
});
