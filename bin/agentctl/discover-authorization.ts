import * as z from 'zod';
import type { RemoteHttp } from '#domain/tools/remote-tools.ts';
import type { ClientAuth } from '#domain/tools/tool-secret.ts';

/** The metadata of a protected resource (RFC 9728). */
const resourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.tuple([z.url()], z.string()),
  scopes_supported: z.array(z.string()).default([]),
});

/** The metadata of an authorization server (RFC 8414 or OpenID Connect). */
const serverMetadata = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
});

const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];

type Discovered = Omit<ClientAuth, 'client_id' | 'secret'>;

/**
 * Statuses of a GET at an MCP server that asks for no credentials: 405 is usual for one without a stream of its own,
 * 406 for one with a stream, which this GET does not ask for, and 400 for one that misses a session.
 */
const openStatuses = [200, 400, 405, 406];

/**
 * @param http rejects addresses that tools may not call
 * @returns the entry's `auth` without client and secret; undefined if the server asks for no credentials
 * @throws Error, for example if the server does not say where clients get tokens; as `getDocument`
 */
export async function discoverAuthorization(http: RemoteHttp, url: URL): Promise<Discovered | undefined> {
  // A server without authorization may respond with a stream without an end, which is not read.
  const { status, headers, body } = await getDocument(http, url, metadataLimits, 'json');
  const { 'www-authenticate': challenge = '' } = headers;
  const isUnknownSession = status === 404 && body.includes('"jsonrpc"');
  if (openStatuses.includes(status) || isUnknownSession) return undefined;
  if (status !== 401) throw new Error(`${url} has the status ${status}: it does not say where tokens are`);
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  if (named !== undefined && !URL.canParse(named))
    throw new Error(`${url} names metadata of OAuth at ${named}, which is no URL`);
  const usual = [url, new URL(url.origin)].map((each) => wellKnown(each, 'oauth-protected-resource'));
  const about = await firstOf(http, named === undefined ? usual : [named], resourceMetadata);
  // The resource may be wider than this address: its origin, or a parent path.
  if (!`${url.origin}${url.pathname}/`.startsWith(`${about.resource.replace(/\/$/, '')}/`))
    throw new Error(`The metadata of ${url} is about another resource: ${about.resource}`);
  const [issuer] = about.authorization_servers;
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const addresses = names.map((name) => wellKnown(new URL(issuer), name));
  addresses.push(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const server = await firstOf(http, addresses, serverMetadata);
  if (server.issuer !== issuer)
    throw new Error(`The authorization server ${issuer} says that it is ${server.issuer}`);
  const taken = server.token_endpoint_auth_methods_supported;
  const method = methods.find((name) => taken.includes(name));
  if (method === undefined)
    throw new Error(`The authorization server ${issuer} takes only ${taken.join(', ')}`);
  const scope = /scope="([^"]+)"/.exec(challenge)?.[1] ?? about.scopes_supported.join(' ');
  return {
    ...{ type: 'oauth_client_credentials', token_url: server.token_endpoint, issuer },
    ...{ resource: about.resource, ...(scope !== '' && { scope }) },
    method: method.replace('client_secret_', '') as Discovered['method'],
  };
}

const wellKnown = ({ origin, pathname }: URL, name: string) =>
  `${origin}/.well-known/${name}${pathname.replace(/\/$/, '')}`;

async function firstOf<Value>(http: RemoteHttp, addresses: string[], schema: z.ZodType<Value>) {
  for (const address of addresses) {
    const { body } = await getDocument(http, new URL(address), metadataLimits, 'json');
    const { data } = schema.safeParse(await new Response(body).json().catch(() => undefined));
    if (data !== undefined) return data;
  }
  throw new Error(`There are no metadata of OAuth at ${addresses.join(', ')}`);
}

const metadataLimits = { timeout: 10_000, maxBytes: 64_000 };

/**
 * @param type the content type must contain it, or the body is not read
 * @returns `body` is empty if it was not read: for other statuses than 200 and 404, or another type
 * @throws OutboundFailure as `RemoteHttp.send`, also for a redirect
 */
export async function getDocument(http: RemoteHttp, url: URL, limits: typeof metadataLimits, type = '') {
  const pool = http.openPool();
  const { signal } = new AbortController();
  const request = { ...limits, workspaceId: '', url, headers: {}, auth: undefined, pool, signal };
  return http
    .send({ ...request, method: 'GET' }, async ({ status, headers }, chunks) => {
      const isRead = [200, 404].includes(status) && (headers['content-type'] ?? '').includes(type);
      return { status, headers, body: Buffer.concat(isRead ? await Array.fromAsync(chunks) : []) };
    })
    .finally(() => pool.close());
}
