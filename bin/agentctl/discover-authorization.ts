import * as z from 'zod';
import type { ClientAuth } from '#domain/tools/credential.ts';
import type { RemoteHttp } from '#domain/tools/remote-http.ts';

/** RFC 9728. */
const resourceMetadata = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()).min(1),
  scopes_supported: z.array(z.string()).optional(),
});

/** RFC 8414. */
const serverMetadata = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  grant_types_supported: z.array(z.string()).optional(),
});

/** What an entry has of OAuth besides the client. */
type Discovered = Omit<ClientAuth, 'client_id' | 'secret'>;

interface Answer {
  status: number;
  challenge: string;
  body: string;
}

/**
 * Asks a server where its clients get their tokens. The result is written into agent.json, so that a reply asks nobody.
 * @returns undefined if the server answers without credentials
 * @throws Error if it does not say, or if what it says does not fit together
 */
export async function discoverAuthorization(
  get: (url: URL) => Promise<Answer>,
  url: URL,
): Promise<Discovered | undefined> {
  const { status, challenge } = await get(url);
  if (status !== 401) return undefined;
  const [, named] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const addresses = named === undefined ? wellKnown(url, 'oauth-protected-resource') : [named];
  const { resource, authorization_servers, scopes_supported } = await firstOf(
    get,
    addresses,
    resourceMetadata,
  );
  if (!covers(resource, url))
    throw new Error(`The metadata of ${url} is about another resource: ${resource}`);
  const [issuer = ''] = authorization_servers;
  const found = await firstOf(get, addressesOf(issuer), serverMetadata);
  if (found.issuer !== issuer)
    throw new Error(`The authorization server ${issuer} says that it is ${found.issuer}`);
  if (found.grant_types_supported?.includes('client_credentials') === false)
    throw new Error(`The authorization server ${issuer} has no client credentials`);
  const method = methods.find(([name]) => found.token_endpoint_auth_methods_supported.includes(name))?.[1];
  if (method === undefined)
    throw new Error(
      `The authorization server ${issuer} takes none of ${methods.map(([name]) => name).join(', ')}`,
    );
  const scope = /scope="([^"]+)"/.exec(challenge)?.[1] ?? scopes_supported?.join(' ');
  return {
    ...{ type: 'oauth_client_credentials', token_url: found.token_endpoint, issuer, resource },
    ...(scope && { scope }),
    method,
  };
}

/** By their names in metadata. The first that the server takes. */
const methods = [
  ['client_secret_basic', 'basic'],
  ['client_secret_post', 'post'],
  ['private_key_jwt', 'private_key_jwt'],
] as const;

function wellKnown({ origin, pathname }: URL, name: string): string[] {
  const root = `${origin}/.well-known/${name}`;
  return pathname === '/' ? [root] : [`${root}${pathname.replace(/\/$/, '')}`, root];
}

function addressesOf(issuer: string): string[] {
  const url = URL.parse(issuer);
  if (url === null) throw new Error(`The address of the authorization server is no URL: ${issuer}`);
  const path = url.pathname.replace(/\/$/, '');
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const addresses = names.map((name) => `${url.origin}/.well-known/${name}${path}`);
  return path === '' ? addresses : [...addresses, `${url.origin}${path}/.well-known/openid-configuration`];
}

/** A resource may be a part of the server, such as its origin. */
function covers(resource: string, { origin, pathname }: URL): boolean {
  const url = URL.parse(resource);
  const path = url?.pathname.replace(/\/$/, '');
  return url?.origin === origin && (pathname === path || pathname.startsWith(`${path}/`));
}

/** The first of these documents that there is. */
async function firstOf<Value>(
  get: (url: URL) => Promise<Answer>,
  addresses: readonly string[],
  schema: z.ZodType<Value>,
): Promise<Value> {
  for (const address of addresses) {
    const { status, body } = await get(new URL(address));
    if (status !== 200) continue;
    const { data } = schema.safeParse(jsonIn(body));
    if (data === undefined) throw new Error(`${address} has no metadata of OAuth`);
    return data;
  }
  throw new Error(`There are no metadata of OAuth at ${addresses.join(', ')}`);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Guarded as the requests of tools are: without redirects, at public addresses or those of `toolAllow`. */
export const metadataReader =
  (http: RemoteHttp, signal: AbortSignal) =>
  (url: URL): Promise<Answer> => {
    const pool = http.openPool();
    const request = {
      ...({ workspaceId: '', url, method: 'GET', auth: undefined, pool, signal } as const),
      ...{ headers: { Accept: 'application/json' }, timeout: 10_000, maxBytes: 64 * 1024 },
    };
    return http
      .send(request, async ({ status, headers }, chunks) => ({
        status,
        challenge: headers['www-authenticate'] ?? '',
        // A server without authorization may answer with a stream without an end.
        body: headers['content-type']?.includes('json')
          ? Buffer.concat(await Array.fromAsync(chunks)).toString()
          : '',
      }))
      .finally(() => pool.close());
  };
