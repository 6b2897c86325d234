import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientTokens, remoteHttp } from '#adapters/outbound/remote-http.ts';
import { toolAuth } from '#contract/tools.ts';
import { credentialOf, SecretValues } from '#domain/tools/tool-secret.ts';
import { manualClock } from '#support/manual-clock.ts';
import {
  closeAfterTest,
  type Received,
  type Respond,
  serveOverTls as serve,
} from '#support/serve-over-tls.ts';

const secret = 'canary+client secret/1';

interface Options {
  /** What the authorization server answers; by default tokens that count up. */
  issue?: Respond;
  /** What the tool's server answers. */
  answer?: Respond;
  auth?: object;
  values?: string[];
  /** The hosts of the secret besides that of the server of tools, in place of that of the authorization server. */
  hosts?: string[];
  isAllowed?: boolean;
}

/** An authorization server, a server of tools that takes its newest token, and the calls of tools. */
async function open({
  issue,
  answer,
  auth: fields,
  values = [secret],
  hosts,
  isAllowed = true,
}: Options = {}) {
  const clock = manualClock();
  let newest = '';
  const issuer = await serve(
    issue ??
      ((_request, response) => {
        newest = `canary-token-${issuer.received.length}`;
        response.end(JSON.stringify({ access_token: newest, token_type: 'Bearer', expires_in: 3600 }));
      }),
  );
  const tools = await serve(
    answer ??
      (({ headers }, response) => {
        response.writeHead(headers.authorization === `Bearer ${newest}` ? 200 : 401).end('done');
      }),
  );
  let reads = 0;
  const secretValues = new SecretValues({
    clock,
    toolSecrets: {
      get: async (_workspaceId: string, name: string) => ({
        ...{ name, hosts: [tools.host, ...(hosts ?? [issuer.host])], updatedAt: '' },
        encrypted: values[Math.min(reads++, values.length - 1)],
      }),
    } as never,
    toolSecretCipher: { encrypt: () => expect.unreachable(), decrypt: async (encrypted) => encrypted },
  });
  const rules = {
    allow: isAllowed ? [{ host: 'localhost', port: '*' as const }] : [],
    ...{ denied: [], resolve: async () => ['127.0.0.1'] },
  };
  const tokens = clientTokens({ rules, clock });
  const http = remoteHttp({
    rules: { ...rules, allow: [{ host: 'localhost', port: '*' }] },
    credentialOf: (auth, target) => credentialOf(secretValues, auth, target, tokens),
    depth: () => 0,
  });
  const pool = http.openPool();
  closeAfterTest(() => pool.close());
  const auth = toolAuth.parse({
    ...{ type: 'oauth_client_credentials', client_id: 'the client', secret: 'crm' },
    ...{ token_url: `${issuer.origin}/token`, issuer: issuer.origin, resource: `${tools.origin}/mcp` },
    ...fields,
  });
  const call = (workspaceId = 'ws', signal = new AbortController().signal) =>
    http.send(
      {
        ...{ workspaceId, url: new URL(`${tools.origin}/mcp`), method: 'POST', headers: {}, auth },
        ...{ body: Buffer.from('{}'), timeout: 5000, maxBytes: 10_000, pool, signal },
      },
      async ({ status, redact }, chunks) => ({
        status,
        text: redact(Buffer.concat(await Array.fromAsync(chunks)).toString()),
      }),
    );
  return {
    ...{ clock, issuer, tools, call },
    revoke: () => {
      newest = 'revoked';
    },
  };
}

const fieldsOf = ({ body }: Received) => Object.fromEntries(new URLSearchParams(body));
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: Error & { kind?: string }) => `${error.kind ?? error.name}: ${error.message}`,
  );
/** Answers of an authorization server that gives one token for this time, and of a server of tools that takes any. */
const issuing =
  (expires_in: unknown): Respond =>
  (_request, response) =>
    response.end(JSON.stringify({ access_token: 'canary-token', token_type: 'bearer', expires_in }));
const accept: Respond = (_request, response) => response.end();
const times = <Value>(count: number, make: () => Value) => Array.from({ length: count }, () => make());

describe('a token', () => {
  it('is one for 100 calls, also for those that wait for it at once', async () => {
    const { call, issuer, tools } = await open({ auth: { scope: 'read write' } });
    expect(new Set((await Promise.all(times(50, call))).map(({ status }) => status))).toEqual(new Set([200]));
    for (const _ of times(50, () => 0)) expect(await call()).toEqual({ status: 200, text: 'done' });
    expect(tools.received).toHaveLength(100);
    expect(issuer.received).toHaveLength(1);
    const [request] = issuer.received;
    expect(request?.path).toBe('/token');
    expect(request && fieldsOf(request)).toEqual({
      ...{ grant_type: 'client_credentials', scope: 'read write', resource: `${tools.origin}/mcp` },
    });
    const pair = Buffer.from('the+client:canary%2Bclient+secret%2F1').toString('base64');
    expect(request?.headers.authorization).toBe(`Basic ${pair}`);
    expect(JSON.stringify(tools.received)).not.toMatch(/client secret/);
  });

  it.each([
    ['of 100 seconds', 100, 40],
    ['of a text', '100', 40],
    ['of no time', undefined, 240],
    ['of a wrong time', 'soon', 240],
    ['of a day', 86_400, 3540],
    ['of all time', 1e300, 3540],
  ])('%s is used until 60 s before its end', async (_what, expires_in, seconds) => {
    const { call, clock, issuer } = await open({ issue: issuing(expires_in), answer: accept });
    await call();
    await clock.advance(seconds * 1000 - 1);
    await call();
    expect(issuer.received).toHaveLength(1);
    await clock.advance(1);
    await call();
    expect(issuer.received).toHaveLength(2);
  });

  it.each([0, 60, -1])('of %d s is used once, by all that wait for it', async (expires_in) => {
    const { call, issuer } = await open({ issue: issuing(expires_in), answer: accept });
    await Promise.all(times(5, call));
    expect(issuer.received).toHaveLength(1);
    await call();
    expect(issuer.received).toHaveLength(2);
  });

  it('is dropped after a 401, for one new token and one further attempt', async () => {
    const { call, issuer, tools, revoke } = await open();
    await call();
    revoke();
    const statuses = (await Promise.all(times(20, call))).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(issuer.received).toHaveLength(2);
    expect(tools.received).toHaveLength(41);
  });

  it('is of one workspace', async () => {
    const { call, issuer } = await open({ answer: accept });
    for (const workspaceId of ['one', 'two', 'one']) await call(workspaceId);
    expect(issuer.received).toHaveLength(2);
  });

  it('is still got for others if one of those who wait has gone', async () => {
    const sent = Promise.withResolvers<ServerResponse>();
    const { call, issuer } = await open({
      issue: (_request, response) => sent.resolve(response),
      answer: accept,
    });
    const gone = new AbortController();
    const [first, second] = [call('ws', gone.signal), call()];
    const response = await sent.promise;
    gone.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    issuing(100)({} as Received, response);
    expect(await second).toMatchObject({ status: 200 });
    expect(issuer.received).toHaveLength(1);
  });

  it('and the secret are removed from what the server of the tool repeats', async () => {
    const { call, tools } = await open({
      answer: ({ headers }, response) =>
        response.end(
          `${headers.authorization} ${encodeURIComponent(String(headers.authorization))} ${secret} ` +
            `${Buffer.from('canary-token-1').toString('base64')} ${encodeURIComponent(secret)}`,
        ),
    });
    const { text } = await call();
    expect(tools.received[0]?.headers.authorization).toBe('Bearer canary-token-1');
    expect(text).toBe('Bearer [secret] Bearer%20[secret] [secret] [secret] [secret]');
  });
});

describe('the client proves itself', () => {
  it('by fields', async () => {
    const { call, issuer } = await open({ auth: { method: 'post' } });
    await call();
    const [request] = issuer.received;
    expect(request && fieldsOf(request)).toMatchObject({ client_id: 'the client', client_secret: secret });
    expect(request?.headers.authorization).toBeUndefined();
  });

  const pairs = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: generateKeyPairSync('ed25519'),
  };
  it.each(Object.entries(pairs))('by a signature %s', async (alg, pair) => {
    const value = JSON.stringify({ ...pair.privateKey.export({ format: 'jwk' }), kid: 'key 1' });
    const { call, clock, issuer } = await open({ auth: { method: 'private_key_jwt' }, values: [value] });
    await call();
    const [request] = issuer.received;
    const fields = request ? fieldsOf(request) : {};
    expect(fields).toMatchObject({
      client_id: 'the client',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    const [head = '', body = '', signature = ''] = (fields.client_assertion ?? '').split('.');
    const parts = [head, body].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
    const iat = clock.now().getTime() / 1000;
    expect(parts).toEqual([
      { alg, typ: 'JWT', kid: 'key 1' },
      {
        ...{ iss: 'the client', sub: 'the client', aud: issuer.origin, iat, exp: iat + 60 },
        jti: expect.stringMatching(/^[\w-]{36}$/),
      },
    ]);
    const key = { key: createPublicKey(pair.privateKey), dsaEncoding: 'ieee-p1363' } as const;
    const digest = alg === 'EdDSA' ? null : 'sha256';
    expect(verify(digest, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))).toBe(
      true,
    );
    expect(JSON.stringify(issuer.received)).not.toContain(JSON.parse(value).d);
  });

  it.each([
    ['text', secret],
    ...['P-384', 'P-521'].map((namedCurve) => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve });
      return [`key of ${namedCurve}`, JSON.stringify(privateKey.export({ format: 'jwk' }))];
    }),
  ])('by no %s', async (_what, value) => {
    const { call, issuer } = await open({ auth: { method: 'private_key_jwt' }, values: [value] });
    expect(await failureOf(call())).toBe(
      'Error: The secret of this tool is no private key (RSA, P-256 or Ed25519) as JWK',
    );
    expect(issuer.received).toEqual([]);
  });

  it('by the new secret if the server rejects the one before', async () => {
    const { call, issuer } = await open({
      values: ['the old value', secret],
      issue: ({ headers }, response) => {
        const isNew = headers.authorization?.includes(
          Buffer.from('the+client:canary').toString('base64').slice(0, 20),
        );
        response
          .writeHead(isNew ? 200 : 401)
          .end(JSON.stringify({ access_token: 'canary-token', token_type: 'bearer', expires_in: 100 }));
      },
      answer: (_request, response) => response.end('done'),
    });
    expect(new Set((await Promise.all(times(20, call))).map(({ text }) => text))).toEqual(new Set(['done']));
    expect(issuer.received).toHaveLength(2);
  });
});

describe('an authorization server', () => {
  it.each([301, 302, 303, 307, 308])('that redirects by a %i is not followed', async (status) => {
    const other = await serve((_request, response) => response.end());
    for (const location of [`${other.origin}/token`, '/elsewhere', 'http://169.254.169.254/latest']) {
      const { call, issuer, tools } = await open({
        issue: (_request, response) => response.writeHead(status, { Location: location }).end(),
      });
      expect(await failureOf(call())).toBe(
        `refused: The authorization server gives no token: status ${status}`,
      );
      expect(issuer.received.map(({ path }) => path)).toEqual(['/token']);
      expect(tools.received).toEqual([]);
    }
    expect(other.received).toEqual([]);
  });

  it.each([
    ['unauthorized', 400, secret, 2],
    ['unauthorized', 401, secret, 2],
    ['refused', 500, secret, 1],
    ['refused', 201, '{}', 1],
    ['refused', 200, secret, 1],
    ['refused', 200, '{"token_type":"bearer"}', 1],
    ['refused', 200, '{"access_token":"canary-token","token_type":"mac"}', 1],
    ['refused', 200, '{"access_token":"canary\\r\\ntoken","token_type":"bearer"}', 1],
    ['too-large', 200, ' '.repeat(70_000), 1],
  ])('is a failure without its words: %s (%d)', async (kind, status, body, requests) => {
    const message =
      kind === 'too-large'
        ? 'The answer is larger than 0.064 MB'
        : `The authorization server gives no token: status ${status}`;
    const failure = `${kind}: ${message}`;
    const { call, issuer, tools } = await open({
      issue: (_request, response) => response.writeHead(status).end(body),
    });
    expect(await failureOf(call())).toBe(failure);
    expect(issuer.received).toHaveLength(requests);
    expect(tools.received).toEqual([]);
    expect(await failureOf(call())).toBe(failure);
  });

  it('has 10 s, however slowly it answers', async () => {
    const { call } = await open({
      issue: (_request, response) => {
        const timer = setInterval(() => response.write(' '), 200);
        response.once('close', () => clearInterval(timer));
      },
    });
    const startedAt = performance.now();
    expect(await failureOf(call())).toBe('timeout: It took longer than 10 seconds');
    expect(performance.now() - startedAt).toBeLessThan(10_500);
  });

  it('gets nothing at an address that is not allowed, without TLS, or that the secret does not name', async () => {
    const inside = await open({ isAllowed: false });
    expect(await failureOf(inside.call())).toBe('forbidden: The address is not allowed');
    const plain = await open({
      ...{ isAllowed: false, auth: { token_url: 'http://auth.example/token' }, hosts: ['auth.example:80'] },
    });
    expect(await failureOf(plain.call())).toBe('forbidden: A secret is sent over https alone');
    const unbound = await open({ hosts: [] });
    expect(await failureOf(unbound.call())).toBe('Error: The secret crm is not for the host of this tool');
    for (const { issuer, tools } of [inside, plain, unbound])
      expect([...issuer.received, ...tools.received]).toEqual([]);
  });
});

it.each([
  ['issuer', { issuer: undefined }],
  ['resource', { resource: undefined }],
  ['token_url', { token_url: 'https://user@auth.example/token' }],
  ['scope', { scope: 'two  blanks' }],
  ['client_secret', { client_secret: 'x' }],
])('an entry needs its %s as it is pinned', (_field, changes) => {
  const url = 'https://auth.example';
  const auth = {
    ...{ type: 'oauth_client_credentials', client_id: 'c', secret: 'crm' },
    ...{ token_url: `${url}/token`, issuer: url, resource: 'https://mcp.example/mcp' },
  };
  expect(toolAuth.safeParse(auth).success).toBe(true);
  expect(toolAuth.safeParse({ ...auth, ...changes }).success).toBe(false);
});
