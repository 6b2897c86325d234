import { createPrivateKey, type JsonWebKey, randomUUID, sign } from 'node:crypto';
import * as z from 'zod';
import { depthHeader } from '#contract/limits.ts';
import type { ToolAuth } from '#contract/tools.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';
import { timedCache, untilAborted } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { ReadRemote, RemoteHttp, RemoteRequest } from '#domain/tools/remote-tools.ts';
import {
  type ClientAuth,
  type ClientTokens,
  type Credential,
  type CredentialTarget,
  maySendSecret,
  redactor,
} from '#domain/tools/tool-secret.ts';
import type { OutboundRules } from './addresses.ts';
import { ConnectionPool, sendOutbound } from './send-outbound.ts';

interface Options {
  /** The addresses in their `allow` may get a secret without TLS. */
  rules: OutboundRules;
  credentialOf: (auth: ToolAuth | undefined, target: CredentialTarget) => Promise<Credential>;
  /** How many replies the client's request has come through. */
  depth: () => number;
}

/** @throws OutboundFailure `forbidden` for an address that may get no secret (`maySendSecret`) */
export function rejectPlainHttp(url: URL, { allow }: Pick<OutboundRules, 'allow'>): void {
  if (!maySendSecret(url, allow)) throw new OutboundFailure('forbidden', 'A secret is sent over https alone');
}

const rejected = Symbol('rejected');

export const remoteHttp = ({ rules, credentialOf, depth }: Options): RemoteHttp => ({
  openPool: () => new ConnectionPool(),
  async send<Body>(request: RemoteRequest, read: ReadRemote<Body>): Promise<Body> {
    const { auth, method, body, timeout, maxBytes, signal, pool } = request;
    if (auth !== undefined) rejectPlainHttp(request.url, rules);
    for (let isRepeated = auth === undefined; ; isRepeated = true) {
      const credential = await credentialOf(auth, request);
      const url = new URL(request.url);
      // `searchParams` would write the other parameters anew, in another encoding.
      for (const [name, value] of Object.entries(credential.query))
        url.search += `${url.search ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
      const redact = redactor(credential.secrets);
      const response = await sendOutbound<Body | typeof rejected>(
        {
          ...{ url, method, maxBytes, signal, rules, redirects: 0, pool: pool as ConnectionPool },
          headers: {
            ...{ 'User-Agent': 'agent-service-tools', [depthHeader]: String(depth() + 1) },
            ...request.headers,
            ...credential.headers,
          },
          ...(body && { body }),
          times: { response: timeout, whole: timeout },
        },
        async ({ status, headers: received }, chunks) => {
          if (status >= 300 && status < 400)
            throw new OutboundFailure('redirects', 'The server redirects, which tools do not follow');
          if (status === 401 && !isRepeated) return rejected;
          const headers = Object.entries(received).map(([name, value]) => [name, String(value)]);
          return read({ status, headers: Object.fromEntries(headers), redact }, chunks);
        },
      );
      if (response.body !== rejected) return response.body;
      credential.forget();
    }
  },
});

/** In milliseconds. Those who wait for a token cannot shorten them. */
const tokenTimes = { response: 10_000, whole: 10_000 };

const tokenBytes = 64_000;

/**
 * In milliseconds. A token that ends sooner is used only by those who wait for it, because a request with it may take a
 * while.
 */
const reserve = 60_000;

/** A token has at least 8 characters, so that it can be removed from results. */
const tokenResponse = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]{8,16384}$/),
  token_type: z.string().regex(/^bearer$/i),
  // Seconds, as a text at some servers.
  expires_in: z.coerce.number().catch(300),
});

interface TokenOptions {
  rules: OutboundRules;
  clock: Pick<Clock, 'now'>;
}

/** By client credentials (RFC 6749, section 4.4). */
export function clientTokens(options: TokenOptions): ClientTokens {
  const cached = timedCache<{ token: string; until: number }>();
  return async (workspaceId, auth, secretOf, signal) => {
    const request = async (isRepeated = false): ReturnType<typeof requestToken> => {
      const { value: secret, forget } = await secretOf();
      try {
        return await requestToken(auth, secret, options);
      } catch (error) {
        if (isRepeated || !(error instanceof OutboundFailure && error.kind === 'unauthorized')) throw error;
        // An operator may have replaced the secret.
        forget();
        return request(true);
      }
    };
    // Those who wait for the token share its request: none of them can abort it.
    const key = JSON.stringify([workspaceId, auth]);
    const { value, forget } = cached(key, options.clock.now().getTime(), () => request());
    return { value: (await untilAborted(value, signal)).token, forget };
  };
}

async function requestToken(auth: ClientAuth, secret: string, { rules, clock }: TokenOptions) {
  const url = new URL(auth.token_url);
  rejectPlainHttp(url, rules);
  const { headers, fields } = proofOf(auth, secret, clock);
  const grant = { grant_type: 'client_credentials', resource: auth.resource };
  const form = new URLSearchParams({ ...grant, ...(auth.scope && { scope: auth.scope }), ...fields });
  const { status, body } = await sendOutbound({
    ...{ url, method: 'POST', rules, redirects: 0, maxBytes: tokenBytes, body: Buffer.from(String(form)) },
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    ...{ times: tokenTimes, signal: new AbortController().signal },
  });
  // A redirect is a failure too: the credentials stay at the address that an operator has named.
  const { data } = tokenResponse.safeParse(status === 200 ? jsonIn(Buffer.from(body).toString()) : undefined);
  const now = clock.now().getTime();
  if (data)
    return { token: data.access_token, until: now + Math.min(data.expires_in, 3600) * 1000 - reserve };
  const kind = status === 400 || status === 401 ? 'unauthorized' : 'refused';
  throw new OutboundFailure(kind, `The authorization server gives no token: status ${status}`);
}

function proofOf(auth: ClientAuth, secret: string, clock: TokenOptions['clock']) {
  const { client_id, method } = auth;
  if (method === 'post') return { headers: {}, fields: { client_id, client_secret: secret } };
  if (method === 'basic') {
    const pair = [client_id, secret].map((text) => String(new URLSearchParams({ '': text })).slice(1));
    const encoded = Buffer.from(pair.join(':')).toString('base64');
    return { headers: { Authorization: `Basic ${encoded}` }, fields: {} };
  }
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const client_assertion = assertionOf(auth, secret, clock);
  return { headers: {}, fields: { client_id, client_assertion_type, client_assertion } };
}

const algorithms: Partial<Record<string, string>> = { RSA: 'RS256', 'P-256': 'ES256', Ed25519: 'EdDSA' };

function assertionOf(
  { client_id, issuer }: ClientAuth,
  secret: string,
  clock: TokenOptions['clock'],
): string {
  const { alg, key, kid } = keyOf(secret);
  const iat = Math.floor(clock.now().getTime() / 1000);
  const claims = { iss: client_id, sub: client_id, aud: issuer, jti: randomUUID(), iat, exp: iat + 60 };
  const signed = [{ alg, typ: 'JWT', kid }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const hash = alg === 'EdDSA' ? null : 'sha256';
  const signature = sign(hash, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

/**
 * @param secret the key as JWK
 * @throws Error without the key's text
 */
function keyOf(secret: string) {
  try {
    const jwk: JsonWebKey = JSON.parse(secret);
    const alg = algorithms[jwk.crv ?? jwk.kty ?? ''];
    if (alg !== undefined) return { alg, key: createPrivateKey({ key: jwk, format: 'jwk' }), kid: jwk.kid };
  } catch {
    // For example, it is no JSON, or a public key.
  }
  throw new Error('The secret of this tool is no private key (RSA, P-256 or Ed25519) as JWK');
}
