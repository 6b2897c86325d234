import { describe, expect, it } from 'vitest';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { serveOverTls as serve } from '#support/serve-over-tls.ts';
import { discoverAuthorization } from '../../bin/agentctl/discover-authorization.ts';

type Documents = Record<string, object | { status: number; headers: Record<string, string> }>;

interface Options {
  /** In place of the usual documents of the server of tools, by path. */
  tools?: Documents;
  issuer?: Documents;
  challenge?: string;
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
async function open({ tools = {}, issuer = {}, challenge }: Options = {}) {
  const documents = {
    tools: {
      [`${prm}/mcp`]: { resource: 'TOOLS/mcp', authorization_servers: ['ISSUER'] },
      ...tools,
    } as Documents,
    issuer: { [asm]: { issuer: 'ISSUER', token_endpoint: 'ISSUER/token' }, ...issuer } as Documents,
  };
  const filled = (value: unknown) =>
    JSON.stringify(value).replaceAll('TOOLS', toolServer.origin).replaceAll('ISSUER', issuerServer.origin);
  const challenged = { status: 401, headers: challenge && { 'www-authenticate': challenge } };
  const answers = (name: 'tools' | 'issuer') =>
    serve(({ path, headers: { authorization } }, response) => {
      const usual = path === '/mcp' ? (authorization ? { headers: {} } : challenged) : { status: 404 };
      const { status = 200, headers, ...document } = Object(documents[name][path] ?? usual);
      response.writeHead(status, JSON.parse(filled({ 'content-type': 'application/json', ...headers })));
      response.end(filled(document));
    });
  const toolServer = await answers('tools');
  const issuerServer = await answers('issuer');
  const rules = {
    allow: [{ host: 'localhost', port: '*' as const }],
    ...{ denied: [], resolve: async () => ['127.0.0.1'] },
  };
  const http = remoteHttp({
    rules,
    credentialOf: async () => ({ headers: {}, query: {}, secrets: [], forget: () => undefined }),
    depth: () => 0,
  });
  return {
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
  ] as [string, Options, object][])('%s', async (_what, options, found) => {
    expect(await (await open(options)).discover()).toEqual(found);
  });

  it.each([
    { status: 405, headers: {} },
    // It asks for a session.
    { status: 404, headers: {}, jsonrpc: '2.0' },
  ])('unless the server asks for none: %j', async (response) => {
    const { discover } = await open({ tools: { '/open': response } });
    expect(await discover('/open')).toBeNull();
  });

  it('and not from a server that fails', async () => {
    const { discover } = await open({ tools: { '/broken': { status: 404, headers: {} } } });
    expect(await discover('/broken')).toBe(
      `TOOLS/broken has the status 404: it does not say where tokens are`,
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
] as [string, Options, string][])('an import is refused: %s', async (_what, options, problem) => {
  const { discover, paths } = await open(options);
  expect(await discover()).toBe(problem);
  expect(paths()).not.toContain('/elsewhere');
});
