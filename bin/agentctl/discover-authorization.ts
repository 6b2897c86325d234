import * as z from 'zod';
import { jsonIn } from '#adapters/outbound/send-outbound.ts';
import type { ClientAuth } from '#domain/tools/credential.ts';
import type { RemoteHttp } from '#domain/tools/remote-http.ts';

/** RFC 9728. */
const resourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.tuple([z.url()], z.string()),
  scopes_supported: z.array(z.string()).default([]),
});

/** RFC 8414. */
const serverMetadata = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  grant_types_supported: z.array(z.string()).default(['client_credentials']),
});

/** By their names in metadata. The first that the server takes. */
const methods = {
  client_secret_basic: 'basic',
  client_secret_post: 'post',
  private_key_jwt: 'private_key_jwt',
} as const;

/**
 * Asks a server where its clients get their tokens. The result is written into agent.json, so that a reply asks nobody.
 * @param http guards the requests as those of tools
 * @returns what an entry has besides the client; undefined if the server answers without credentials
 * @throws Error if it does not say, or if what it says does not fit together
 */
export async function discoverAuthorization(
  http: RemoteHttp,
  url: URL,
  signal: AbortSignal,
): Promise<Omit<ClientAuth, 'client_id' | 'secret'> | undefined> {
  const { status, challenge } = await get(http, url, signal);
  if (status !== 401) return undefined;
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  const usual = [url, new URL(url.origin)].flatMap((each) => wellKnown(each, 'oauth-protected-resource'));
  const addresses = named === undefined ? usual : [named];
  const { resource, authorization_servers, scopes_supported } = await read(addresses, resourceMetadata);
  // A resource may be a part of the server, such as its origin.
  if (!`${url.origin}${url.pathname}/`.startsWith(`${resource.replace(/\/$/, '')}/`))
    throw new Error(`The metadata of ${url} is about another resource: ${resource}`);
  const [issuer] = authorization_servers;
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const found = await read(wellKnown(new URL(issuer), ...names), serverMetadata);
  if (found.issuer !== issuer)
    throw new Error(`The authorization server ${issuer} says that it is ${found.issuer}`);
  const taken = found.token_endpoint_auth_methods_supported;
  const method = Object.entries(methods).find(([name]) => taken.includes(name))?.[1];
  if (method === undefined || !found.grant_types_supported.includes('client_credentials'))
    throw new Error(`The authorization server ${issuer} takes no client credentials of a known method`);
  const scope = /scope="([^"]+)"/.exec(challenge)?.[1] ?? scopes_supported.join(' ');
  const pinned = { token_url: found.token_endpoint, issuer, resource, method };
  return { type: 'oauth_client_credentials', ...pinned, ...(scope !== '' && { scope }) };

  /** The first of these documents that there is. */
  async function read<Value>(documents: readonly string[], schema: z.ZodType<Value>): Promise<Value> {
    for (const address of documents) {
      const answer = await get(http, new URL(address), signal);
      const { data } = schema.safeParse(answer.json);
      if (data !== undefined) return data;
    }
    throw new Error(`There are no metadata of OAuth at ${documents.join(', ')}`);
  }
}

/** Where metadata may be: the path of the subject is after the name, or before it. */
function wellKnown({ origin, pathname }: URL, ...names: readonly string[]): string[] {
  const path = pathname.replace(/\/$/, '');
  const places = names.flatMap((name) => {
    const known = `/.well-known/${name}`;
    return [`${known}${path}`, `${path}${known}`];
  });
  return [...new Set(places)].map((place) => `${origin}${place}`);
}

async function get(http: RemoteHttp, url: URL, signal: AbortSignal) {
  const pool = http.openPool();
  const request = { workspaceId: '', url, method: 'GET', auth: undefined, pool, signal } as const;
  const bounds = { headers: { Accept: 'application/json' }, timeout: 10_000, maxBytes: 64_000 };
  return http
    .send({ ...request, ...bounds }, async ({ status, headers }, chunks) => ({
      status,
      challenge: headers['www-authenticate'] ?? '',
      // A server without authorization may answer with a stream without an end.
      json:
        status === 200 && headers['content-type']?.includes('json')
          ? jsonIn(Buffer.concat(await Array.fromAsync(chunks)))
          : undefined,
    }))
    .finally(() => pool.close());
}
