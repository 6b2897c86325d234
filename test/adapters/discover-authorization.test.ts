import { describe, expect, it } from 'vitest';
import { clientTokens, remoteHttp } from '#adapters/outbound/remote-http.ts';
import { toolAuth } from '#contract/tools.ts';
import { credentialOf } from '#domain/tools/tool-secret.ts';
import { manualClock } from '#support/manual-clock.ts';
import { closeAfterTest, serveOverTls as serve } from '#support/serve-over-tls.ts';
import { discoverAuthorization } from '../../bin/agentctl/discover-authorization.ts';

type Documents = Record<string, object | { status: number; headers: Record<string, string> }>;

interface Options {
  /** In place of the usual documents of the server of tools, by path. */
  tools?: Documents;
  issuer?: Documents;
  challenge?: string;
  isAllowed?: boolean;
}

const prm = '/.well-known/oauth-protected-resource';
const asm = '/.well-known/oauth-authorization-server';

/** A server of tools with these metadata of its resource. */
const resource = (document: object): Options => ({ tools: { [`${prm}/mcp`]: document } });
/** An authorization server with these metadata besides the usual ones. */
const issuerWith = (fields: object): Options => ({
  issuer: { [asm]: { issuer: 'ISSUER', token_endpoint: 'ISSUER/token', ...fields } },
});

/** Origins in documents: TOOLS and ISSUER. */
async function open({ tools = {}, issuer = {}, challenge, isAllowed = true }: Options = {}) {
  const documents = {
    tools: {
      [`${prm}/mcp`]: { resource: 'TOOLS/mcp', authorization_servers: ['ISSUER'] },
      ...tools,
    } as Documents,
    issuer: { [asm]: { issuer: 'ISSUER', token_endpoint: 'ISSUER/token' }, ...issuer } as Documents,
  };
  const filled = (value: unknown) =>
    JSON.stringify(value).replaceAll('TOOLS', toolServer.origin).replaceAll('ISSUER', issuerServer.origin);
  const answers = (name: 'tools' | 'issuer') =>
    serve(({ path, headers }, response) => {
      const {
        status,
        headers: more,
        ...document
      } = (documents[name][path] ?? { status: 404 }) as {
        status?: number;
        headers?: Record<string, string>;
      };
      if (path === '/mcp' && headers.authorization === undefined)
        response.writeHead(
          401,
          challenge === undefined ? {} : JSON.parse(filled({ 'www-authenticate': challenge })),
        );
      else if (path === '/mcp') response.writeHead(200);
      else
        response.writeHead(
          status ?? 200,
          JSON.parse(filled({ 'content-type': 'application/json', ...more })),
        );
      response.end(filled(document));
    });
  const toolServer = await answers('tools');
  const issuerServer = await answers('issuer');
  const rules = {
    allow: isAllowed ? [{ host: 'localhost', port: '*' as const }] : [],
    ...{ denied: [], resolve: async () => ['127.0.0.1'] },
  };
  const tokens = clientTokens({ rules, clock: manualClock() });
  const values = { valueFor: async () => ({ value: 'the client secret', forget: () => undefined }) };
  const http = remoteHttp({
    rules,
    credentialOf: (auth, target) => credentialOf(values, auth, target, tokens),
    depth: () => 0,
  });
  const { signal } = new AbortController();
  return {
    ...{ documents, http, signal, toolServer, issuerServer },
    paths: () => [...toolServer.received, ...issuerServer.received].map(({ path }) => path),
    /** With origins as in documents. */
    async discover(path = '/mcp') {
      const found = discoverAuthorization(http, new URL(`${toolServer.origin}${path}`));
      const text = await found.then(
        (value) => JSON.stringify(value ?? null),
        (error: Error) => JSON.stringify(error.message),
      );
      return JSON.parse(
        text.replaceAll(toolServer.origin, 'TOOLS').replaceAll(issuerServer.origin, 'ISSUER'),
      ) as unknown;
    },
  };
}

const usual = {
  type: 'oauth_client_credentials',
  ...{ token_url: 'ISSUER/token', issuer: 'ISSUER', resource: 'TOOLS/mcp', method: 'basic' },
};

describe('an import finds where clients get their tokens', () => {
  it('by the well-known address of the resource', async () => {
    const { discover, paths } = await open();
    expect(await discover()).toEqual(usual);
    expect(paths()).toEqual(['/mcp', `${prm}/mcp`, asm]);
  });

  it.each([
    [
      'the challenge, with its scope',
      {
        challenge: 'Bearer error="x", resource_metadata="TOOLS/named", scope="a b"',
        tools: {
          '/named': { resource: 'TOOLS/mcp', authorization_servers: ['ISSUER'], scopes_supported: ['c'] },
        },
      },
      { ...usual, scope: 'a b' },
    ],
    [
      'the root of the server, which has all scopes',
      {
        tools: {
          [`${prm}/mcp`]: { status: 404 },
          [prm]: { resource: 'TOOLS', authorization_servers: ['ISSUER'], scopes_supported: ['a', 'b'] },
        },
      },
      { ...usual, resource: 'TOOLS', scope: 'a b' },
    ],
    [
      'an issuer with a path',
      {
        ...resource({ resource: 'TOOLS/mcp', authorization_servers: ['ISSUER/tenant'] }),
        issuer: {
          '/tenant/.well-known/openid-configuration': { issuer: 'ISSUER/tenant', token_endpoint: 'ISSUER/t' },
        },
      },
      { ...usual, issuer: 'ISSUER/tenant', token_url: 'ISSUER/t' },
    ],
    [
      'a server that takes fields',
      issuerWith({ token_endpoint_auth_methods_supported: ['none', 'client_secret_post'] }),
      { ...usual, method: 'post' },
    ],
    [
      'a server that takes signatures',
      issuerWith({ token_endpoint_auth_methods_supported: ['private_key_jwt'] }),
      { ...usual, method: 'private_key_jwt' },
    ],
  ] as [string, Options, object][])('%s', async (_what, options, found) => {
    expect(await (await open(options)).discover()).toEqual(found);
  });

  it.each([
    ...[200, 400, 405, 406].map((status) => ({ status, headers: {} })),
    // It asks for a session.
    { status: 404, headers: {}, jsonrpc: '2.0' },
  ])('unless the server asks for none: %j', async (response) => {
    const { discover } = await open({ tools: { '/open': response } });
    expect(await discover('/open')).toBeNull();
  });

  it.each([403, 404, 500])('and not from a server that fails with %i', async (status) => {
    const { discover } = await open({ tools: { '/broken': { status, headers: {} } } });
    expect(await discover('/broken')).toBe(
      `TOOLS/broken has the status ${status}: it does not say where tokens are`,
    );
  });
});

const noMetadata = `There are no metadata of OAuth at TOOLS${prm}/mcp, TOOLS${prm}`;
it.each([
  [
    'of another issuer',
    issuerWith({ issuer: 'https://evil.example' }),
    'The authorization server ISSUER says that it is https://evil.example',
  ],
  [
    'of another resource',
    resource({ resource: 'https://other.example/mcp', authorization_servers: ['ISSUER'] }),
    'The metadata of TOOLS/mcp is about another resource: https://other.example/mcp',
  ],
  [
    'of a resource beside it',
    resource({ resource: 'TOOLS/mc', authorization_servers: ['ISSUER'] }),
    'The metadata of TOOLS/mcp is about another resource: TOOLS/mc',
  ],
  ['without metadata', resource({ status: 404 }), noMetadata],
  ['with other metadata', resource({ resource: 'TOOLS/mcp' }), noMetadata],
  [
    'without a method that we have',
    issuerWith({ token_endpoint_auth_methods_supported: ['none'] }),
    'The authorization server ISSUER takes only none',
  ],
  [
    'that redirects',
    { issuer: { [asm]: { status: 302, headers: { location: 'TOOLS/elsewhere' } } } },
    'The server redirects, which tools do not follow',
  ],
  [
    'that leads inside',
    { challenge: 'Bearer resource_metadata="http://169.254.169.254/latest"' },
    'The address is not allowed',
  ],
  [
    'at an address without a host',
    { challenge: 'Bearer resource_metadata="/named"' },
    'TOOLS/mcp names metadata of OAuth at /named, which is no URL',
  ],
  ['at an address inside', { isAllowed: false }, 'The address is not allowed'],
] as [string, Options, string][])('an import is refused: %s', async (_what, options, problem) => {
  const { discover, paths } = await open(options);
  expect(await discover()).toBe(problem);
  expect(paths()).not.toContain('/elsewhere');
});

it('metadata that change later have no effect: the entry has what the import has found', async () => {
  const { documents, discover, http, issuerServer, signal, toolServer } = await open({
    issuer: { '/token': { access_token: 'canary-token', token_type: 'bearer', expires_in: 1 } },
  });
  const filled = JSON.stringify(await discover())
    .replaceAll('TOOLS', toolServer.origin)
    .replaceAll('ISSUER', issuerServer.origin);
  const auth = toolAuth.parse({ ...JSON.parse(filled), client_id: 'client', secret: 'crm' });
  documents.issuer[asm] = { issuer: 'ISSUER', token_endpoint: 'TOOLS/stolen' };
  documents.tools[`${prm}/mcp`] = { resource: 'TOOLS/mcp', authorization_servers: ['TOOLS'] };
  const [before, beforeTools] = [issuerServer.received.length, toolServer.received.length];
  const pool = http.openPool();
  closeAfterTest(() => pool.close());
  for (const _ of [1, 2])
    await http.send(
      {
        ...{ workspaceId: 'ws', url: new URL(`${toolServer.origin}/mcp`), method: 'POST', headers: {}, auth },
        ...{ timeout: 5000, maxBytes: 10_000, pool, signal },
      },
      async ({ status }) => expect(status).toBe(200),
    );
  expect(issuerServer.received.slice(before).map(({ path }) => path)).toEqual(['/token', '/token']);
  expect(toolServer.received.slice(beforeTools).map(({ path }) => path)).toEqual(['/mcp', '/mcp']);
});
