import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import * as z from 'zod';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { ClientAuth, ClientTokens } from '#domain/tools/credential.ts';
import { maySendSecret } from '#domain/tools/tool-secret.ts';
import type { OutboundRules } from './addresses.ts';
import { sendOutbound } from './send-outbound.ts';

/** Milliseconds for a token, whoever waits for it. */
const requestTime = 10_000;

/** Tokens of big claims have 4 KB. */
const maxBytes = 64 * 1024;

/** Milliseconds before its end from which a token is not used: a request may be on its way for so long. */
const reserve = 60_000;

/** Of all workspaces. */
const cachedTokens = 1000;

/** A token has no secret form that is shorter than other secrets. `expires_in` is a text at some servers. */
const tokenResponse = z.object({
  access_token: z
    .string()
    .min(8)
    .max(16_384)
    .regex(/^[\x21-\x7e]+$/),
  token_type: z.string().regex(/^bearer$/i),
  // Five minutes without a time, and an hour at most, whatever the server says.
  expires_in: z.coerce
    .number()
    .catch(300)
    .transform((seconds) => Math.min(Math.max(seconds, 0), 3600)),
});

interface Options {
  /** As of the requests of tools. */
  rules: OutboundRules;
  clock: Pick<Clock, 'now'>;
}

interface Cached {
  token: Promise<string>;
  /** Epoch milliseconds. */
  until: number;
}

/** Tokens by client credentials (RFC 6749, section 4.4), in the memory of this process alone. */
export function clientTokens({ rules, clock }: Options): ClientTokens {
  const cached = new Map<string, Cached>();

  function request(key: string, auth: ClientAuth, secret: string): Cached {
    // Those who wait for the token share its request, so that it does not end with one of them.
    const entry: Cached = { token: Promise.resolve(''), until: Number.POSITIVE_INFINITY };
    entry.token = requestToken(auth, secret, { rules, clock }).then(({ access_token, expires_in }) => {
      entry.until = clock.now().getTime() + expires_in * 1000 - reserve;
      return access_token;
    });
    entry.token.catch(() => cached.get(key) === entry && cached.delete(key));
    if (cached.size >= cachedTokens) cached.clear();
    cached.set(key, entry);
    return entry;
  }

  return {
    async tokenFor(workspaceId, auth, secret, signal) {
      const key = JSON.stringify([workspaceId, auth]);
      const known = cached.get(key);
      const isUsable = known !== undefined && clock.now().getTime() < known.until;
      const entry = isUsable ? known : request(key, auth, secret);
      const token = await untilAborted(entry.token, signal);
      // Another use may have got a new one since.
      return { token, forget: () => cached.get(key) === entry && cached.delete(key) };
    },
  };
}

async function requestToken(auth: ClientAuth, secret: string, { rules, clock }: Options) {
  const url = new URL(auth.token_url);
  if (!maySendSecret(url, rules.allow))
    throw new OutboundFailure('forbidden', 'A secret is sent over https alone');
  const { headers, fields } = proofOf(auth, secret, clock);
  const body = new URLSearchParams({
    ...{ grant_type: 'client_credentials', resource: auth.resource },
    ...(auth.scope !== undefined && { scope: auth.scope }),
    ...fields,
  });
  const response = await sendOutbound({
    ...{ url, method: 'POST', rules, redirects: 0, maxBytes, body: Buffer.from(body.toString()) },
    headers: {
      ...{ 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
      ...headers,
    },
    times: { response: requestTime, whole: requestTime },
    signal: new AbortController().signal,
  });
  if (response.status === 400 || response.status === 401)
    throw new OutboundFailure(
      'unauthorized',
      'The authorization server rejects the credentials of this tool',
    );
  // A redirect too: the credentials stay at the address that an operator has named.
  if (response.status !== 200)
    throw new OutboundFailure('refused', `The authorization server answers with status ${response.status}`);
  const { data } = tokenResponse.safeParse(jsonIn(response.body.toString()));
  if (data === undefined)
    throw new OutboundFailure('protocol', 'The authorization server answers without a bearer token');
  return data;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the request has to prove that the client sends it. */
function proofOf(auth: ClientAuth, secret: string, clock: Options['clock']) {
  const { client_id, method } = auth;
  switch (method) {
    case 'basic': {
      const pair = [client_id, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1));
      return {
        headers: { Authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}` },
        fields: {},
      };
    }
    case 'post':
      return { headers: {}, fields: { client_id, client_secret: secret } };
    case 'private_key_jwt':
      return {
        headers: {},
        fields: {
          client_id,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: assertionOf(auth, secret, clock),
        },
      };
  }
}

/** Signature algorithms of JSON Web Tokens, by the type of the key. */
const algorithms: Partial<Record<string, string>> = { rsa: 'RS256', ec: 'ES256', ed25519: 'EdDSA' };

/** RFC 7523. @param secret a private key: a JWK, or the base64 of its PKCS#8 with or without the lines of PEM */
function assertionOf({ client_id, issuer }: ClientAuth, secret: string, clock: Options['clock']): string {
  const { key, kid } = keyOf(secret);
  const alg = algorithms[key.asymmetricKeyType ?? ''];
  const now = Math.floor(clock.now().getTime() / 1000);
  const claims = {
    ...{ iss: client_id, sub: client_id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 60 },
  };
  const signed = [{ alg, typ: 'JWT', ...(kid !== undefined && { kid }) }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const digest = alg === 'EdDSA' ? null : 'sha256';
  const signature = sign(digest, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

/** @throws Error without the key's text */
function keyOf(secret: string): { key: KeyObject; kid?: string } {
  try {
    if (secret.startsWith('{')) {
      const jwk = JSON.parse(secret);
      return { key: createPrivateKey({ key: jwk, format: 'jwk' }), kid: jwk.kid };
    }
    const key = Buffer.from(secret.replaceAll(/-----[^-]+-----/g, ''), 'base64');
    return { key: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) };
  } catch {
    throw new Error('The secret of this tool is no private key');
  }
}
