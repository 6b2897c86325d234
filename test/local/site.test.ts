import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Site } from '#local/site/serve-site.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startFixture } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

const folder = await temporaryFolder('site-');
const token = 'a-token-of-the-run';
const called: unknown[] = [];
const site: Site = {
  folder: join(folder, 'public'),
  files: { '/extra.json': join(folder, 'extra.json') },
  calls: {
    token,
    async call(name, input) {
      called.push([name, input]);
      return { status: 200, body: { name } };
    },
  },
};
await mkdir(join(site.folder, 'deep'), { recursive: true });
const contents: Record<string, string> = {
  'public/index.html': '<title>Site</title>',
  'public/main.js': 'export {};',
  'public/deep/style.css': 'body {}',
  'public/tsconfig.json': '{}',
  'public/gone.js': '1;',
  'extra.json': '{"extra":true}',
  'secret.html': 'secret',
};
for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
await symlink(join(folder, 'secret.html'), join(site.folder, 'link.html'));

const runs = {
  distribution: closeAfterTests(await startFixture({ assembly: await synthesizeFixture('Web'), site })),
  gateway: closeAfterTests(await startFixture({ site })),
};
const without = {
  distribution: closeAfterTests(await startFixture({ assembly: await synthesizeFixture('Web') })),
  gateway: closeAfterTests(await startFixture()),
};

interface Received {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends the path and the headers unchanged, which `fetch` does not. */
function get(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object; body?: string } = {},
): Promise<Received> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers: { ...headers } }, async (response) => {
      resolve({ status: response.statusCode, headers: response.headers, body: await text(response) });
    })
      .once('error', reject)
      .end(body);
  });
}

const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

describe.each(['distribution', 'gateway'] as const)('a site at the port of the %s', (kind) => {
  const { url } = runs[kind];

  it.each([
    ['/', 'public/index.html', 'text/html; charset=utf-8'],
    ['/index.html', 'public/index.html', 'text/html; charset=utf-8'],
    ['/main.js?v=1', 'public/main.js', 'text/javascript; charset=utf-8'],
    ['/deep/style.css', 'public/deep/style.css', 'text/css; charset=utf-8'],
    ['/extra.json', 'extra.json', 'application/json'],
  ])('serves %s with its headers', async (path, file, type) => {
    const { status, headers, body } = await get(url, path);
    expect([status, body, headers['content-type']]).toEqual([200, contents[file], type]);
    expect(headers).toMatchObject({ ...securityHeaders, 'content-length': String(body.length) });
  });

  it('answers HEAD without a body', async () => {
    const { status, headers, body } = await get(url, '/', { method: 'HEAD' });
    expect([status, body]).toEqual([200, '']);
    expect(headers).toMatchObject({ ...securityHeaders, 'content-length': '19' });
  });

  it('says nothing of CORS', async () => {
    const { headers } = await get(url, '/main.js', { headers: { Origin: 'https://elsewhere.example' } });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  it.each([
    'elsewhere.example',
    'elsewhere.example:3000',
    '127.0.0.1.elsewhere.example',
    'localhost.',
    '10.0.0.1',
  ])('refuses the host %s, but not for routes of the template', async (host) => {
    for (const path of ['/', '/main.js', '/extra.json']) {
      const { status, headers, body } = await get(url, path, { headers: { host } });
      expect([status, headers['content-type']]).toEqual([403, 'text/plain; charset=utf-8']);
      expect(headers).toMatchObject(securityHeaders);
      expect(body).toContain('127.0.0.1 or localhost');
    }
    expect((await get(url, '/live/v1/open/x', { headers: { host } })).status).toBe(200);
  });

  it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1', '[::1]:3000'])('takes the host %s', async (host) => {
    expect((await get(url, '/', { headers: { host } })).status).toBe(200);
  });

  describe('makes a call', () => {
    const host = new URL(url).host;
    const headers = {
      Origin: `http://${host}`,
      'Content-Type': 'application/json',
      'X-Operator-Token': token,
    };
    const call = (changed: Record<string, string | undefined> = {}, body = '{"a":1}') => {
      const all = Object.entries({ ...headers, ...changed }).filter(([, value]) => value !== undefined);
      return get(url, '/operator/write', { method: 'POST', headers: Object.fromEntries(all), body });
    };

    it('for its own page, by both names of this machine', async () => {
      const { port } = new URL(url);
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
        called.splice(0);
        const { status, headers, body } = await call({ Host: host, Origin: `http://${host}` });
        expect([status, body, called]).toEqual([200, '{"name":"write"}', [['write', { a: 1 }]]]);
        expect(headers).toMatchObject({ ...securityHeaders, 'content-type': 'application/json' });
      }
      expect((await call({ 'Content-Type': 'Application/JSON; charset=utf-8' })).status).toBe(200);
    });

    it.each<[string, Record<string, string | undefined>, number]>([
      ['no token', { 'X-Operator-Token': undefined }, 401],
      ['an empty token', { 'X-Operator-Token': '' }, 401],
      ['the start of the token', { 'X-Operator-Token': token.slice(0, -1) }, 401],
      ['another token', { 'X-Operator-Token': 'a-token-of-another' }, 401],
      ['no origin', { Origin: undefined }, 403],
      ['the origin of no page', { Origin: 'null' }, 403],
      ['the origin of another page', { Origin: 'https://elsewhere.example' }, 403],
      ['the origin of another port', { Origin: 'http://127.0.0.1:1' }, 403],
      ['its own origin by another scheme', { Origin: `https://${host}` }, 403],
      [
        'the other name of this machine as origin',
        { Origin: `http://${host.replace('127.0.0.1', 'localhost')}` },
        403,
      ],
      ['a rebound host', { Host: 'elsewhere.example', Origin: 'http://elsewhere.example' }, 403],
      ['no content type', { 'Content-Type': undefined }, 415],
      ['what a form may send', { 'Content-Type': 'text/plain' }, 415],
      ['JSON as a parameter', { 'Content-Type': 'text/plain; application/json' }, 415],
      ['a type that begins like JSON', { 'Content-Type': 'application/json-seq' }, 415],
    ])('never with %s', async (_what, changed, status) => {
      called.splice(0);
      const received = await call(changed);
      expect([received.status, called]).toEqual([status, []]);
      expect(received.body).not.toContain(token);
      expect(Object.keys(received.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    });

    it('of at most 1 MB of JSON, by POST alone', async () => {
      const largest = JSON.stringify('x'.repeat(1024 * 1024 - 2));
      expect((await call({}, largest)).status).toBe(200);
      called.splice(0);
      expect([(await call({}, `${largest} `)).status, (await call({}, '{"a":')).status]).toEqual([413, 400]);
      for (const method of ['GET', 'PUT', 'OPTIONS'])
        await get(url, '/operator/write', { method, headers, body: '{"a":1}' });
      expect(called).toEqual([]);
    });
  });

  it.each([
    ['GET', '/../secret.html'],
    ['GET', '/deep/../../secret.html'],
    ['GET', '/%2e%2e/secret.html'],
    ['GET', '/..%2fsecret.html'],
    ['GET', '//main.js'],
    ['GET', '/link.html'],
    ['GET', '/tsconfig.json'],
    ['GET', '/deep'],
    ['GET', '/deep/'],
    ['GET', '/nowhere.html'],
    ['POST', '/'],
    ['DELETE', '/main.js'],
    ['OPTIONS', '/'],
  ])('leaves %s %s to the template', async (method, path) => {
    const { status, body, headers } = await get(url, path, { method });
    const before = await get(without[kind].url, path, { method });
    expect({ status, body, type: headers['content-type'] }).toEqual({
      status: before.status,
      body: before.body,
      type: before.headers['content-type'],
    });
    expect(status).toBeGreaterThanOrEqual(kind === 'gateway' || method === 'GET' ? 400 : 200);
    expect(body).not.toContain('secret');
  });
});

it('reads a file when it is requested, and says that a file is gone', async () => {
  const { url } = runs.gateway;
  await writeFile(join(folder, 'public/main.js'), 'changed;');
  expect((await get(url, '/main.js')).body).toBe('changed;');
  await writeFile(join(folder, 'public/main.js'), contents['public/main.js'] ?? '');
  await rm(join(folder, 'public/gone.js'));
  expect(await get(url, '/gone.js')).toMatchObject({ status: 404, headers: securityHeaders });
});

it('is not at the gateway’s own port if there is a distribution', async () => {
  const { gateway } = runs.distribution.endpoints;
  expect((await get(gateway, '/')).status).toBe(403);
});
