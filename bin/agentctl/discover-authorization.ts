import * as z from 'zod';
import type { ClientAuth } from '#domain/tools/credential.ts';
import type { RemoteHttp } from '#domain/tools/remote-http.ts';

/** The metadata of a protected resource (RFC 9728). */
const resourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.tuple([z.url()], z.string()),
  scopes_supported: z.array(z.string()).default([]),
});

/** The metadata of an authorization server (RFC 8414). */
const serverMetadata = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
});

/**
 * The methods by which a client proves who it is: names in metadata and in `auth`. The first that the server takes is
 * used.
 */
const methods = [
  ['client_secret_basic', 'basic'],
  ['client_secret_post', 'post'],
  ['private_key_jwt', 'private_key_jwt'],
] as const;

type Discovered = Omit<ClientAuth, 'client_id' | 'secret'>;

/**
 * Asks an MCP server where its clients get their tokens. The result is written into agent.json, so that no reply has to
 * ask.
 * @param http applies the limits of tools to these requests
 * @returns the entry's `auth` without client and secret; undefined for any status but 401, also if the server fails
 * @throws Error if the server's metadata is missing or contradicts itself
 */
export async function discoverAuthorization(http: RemoteHttp, url: URL): Promise<Discovered | undefined> {
  const { status, challenge } = await get(http, url);
  if (status !== 401) return undefined;
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  const usual = [url, new URL(url.origin)].flatMap((each) => wellKnown(each, 'oauth-protected-resource'));
  const about = await firstOf(http, named === undefined ? usual : [named], resourceMetadata);
  // The resource may be wider than this address: its origin, or a parent path.
  if (!`${url.origin}${url.pathname}/`.startsWith(`${about.resource.replace(/\/$/, '')}/`))
    throw new Error(`The metadata of ${url} is about another resource: ${about.resource}`);
  const [issuer] = about.authorization_servers;
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const addresses = names.flatMap((name) => wellKnown(new URL(issuer), name));
  const server = await firstOf(http, addresses, serverMetadata);
  if (server.issuer !== issuer)
    throw new Error(`The authorization server ${issuer} says that it is ${server.issuer}`);
  const taken = server.token_endpoint_auth_methods_supported;
  const method = methods.find(([name]) => taken.includes(name))?.[1];
  if (method === undefined)
    throw new Error(`The authorization server ${issuer} takes only ${taken.join(', ')}`);
  const scope = /scope="([^"]+)"/.exec(challenge)?.[1] ?? about.scopes_supported.join(' ');
  const pinned = { token_url: server.token_endpoint, issuer, resource: about.resource, method };
  return { type: 'oauth_client_credentials', ...pinned, ...(scope !== '' && { scope }) };
}

/** The addresses at which metadata may be: the path of what they are about is after the name, or before it. */
function wellKnown({ origin, pathname }: URL, name: string): string[] {
  const [path, known] = [pathname.replace(/\/$/, ''), `/.well-known/${name}`];
  return [`${origin}${known}${path}`, `${origin}${path}${known}`];
}

/**
 * The first of these documents that has the form of the schema.
 * @throws Error if none has it
 */
async function firstOf<Value>(
  http: RemoteHttp,
  addresses: string[],
  schema: z.ZodType<Value>,
): Promise<Value> {
  for (const address of addresses) {
    const { data } = schema.safeParse((await get(http, new URL(address))).json);
    if (data !== undefined) return data;
  }
  throw new Error(`There are no metadata of OAuth at ${addresses.join(', ')}`);
}

const metadataLimits = { timeout: 10_000, maxBytes: 64_000 };

async function get(http: RemoteHttp, url: URL) {
  // A server without authorization may answer with a stream without an end.
  const isDocument = (type: string) => type.includes('json');
  const { status, headers, body } = await getDocument(http, url, metadataLimits, isDocument);
  const json: unknown = await new Response(body).json().catch(() => undefined);
  return { status, json, challenge: headers['www-authenticate'] ?? '' };
}

/**
 * Sends a GET without credentials, guarded as the requests of tools.
 * @param limits the timeout of the request in milliseconds, and the maximum size of the body
 * @param isDocument says whether a body of this content type is read. Default: always
 * @returns `status`, `headers`, and the `body`. It is empty if the status is not 200, or if it was not read
 * @throws OutboundFailure as `RemoteHttp.send`
 */
export async function getDocument(
  http: RemoteHttp,
  url: URL,
  limits: { timeout: number; maxBytes: number },
  isDocument: (type: string) => boolean = () => true,
) {
  const pool = http.openPool();
  const { signal } = new AbortController();
  const request = { ...limits, workspaceId: '', url, headers: {}, auth: undefined, pool, signal };
  return http
    .send({ ...request, method: 'GET' }, async ({ status, headers }, chunks) => {
      const isRead = status === 200 && isDocument(headers['content-type'] ?? '');
      return { status, headers, body: Buffer.concat(isRead ? await Array.fromAsync(chunks) : []) };
    })
    .finally(() => pool.close());
}
