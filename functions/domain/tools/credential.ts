import type { ToolAuth } from '#contract/tools.ts';
import type { Cached } from '#domain/platform/promises.ts';
import type { RemoteRequest } from './remote-http.ts';
import type { SecretValues } from './tool-secret.ts';

export type CredentialTarget = Pick<RemoteRequest, 'workspaceId' | 'url' | 'signal'>;

export interface Credential {
  headers: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  /** They must be removed from what the server sends (`redactor`). */
  secrets: readonly string[];
  /** Call it after the server has rejected the credential. */
  forget(): void;
}

export type ClientAuth = Extract<ToolAuth, { type: 'oauth_client_credentials' }>;

/**
 * @param secretOf a password, or a private key as JWK for `private_key_jwt`; called once more after a status 400 or 401
 * @throws OutboundFailure if the authorization server gives no token; Error if the secret is no such key; any error of
 * `secretOf`; the signal's reason
 */
export type ClientTokens = (
  workspaceId: string,
  auth: ClientAuth,
  secretOf: () => Promise<Cached<string>>,
  signal: AbortSignal,
) => Promise<Cached<string>>;

/**
 * @throws Error if the secret does not exist, or is not for this host; the errors of `ClientTokens`. Nothing may be
 * sent then
 */
export async function credentialOf(
  values: Pick<SecretValues, 'valueFor'>,
  auth: ToolAuth | undefined,
  { workspaceId, url, signal }: CredentialTarget,
  tokens: ClientTokens,
): Promise<Credential> {
  if (auth === undefined) return { headers: {}, query: {}, secrets: [], forget: () => undefined };
  const secretFor = (address: URL) => values.valueFor(workspaceId, auth.secret, address);
  const { value, forget } = await secretFor(url);
  const credential = { headers: {}, query: {}, secrets: [value], forget };
  switch (auth.type) {
    case 'bearer':
      return { ...credential, headers: { Authorization: `Bearer ${value}` } };
    case 'header':
      return { ...credential, headers: { [auth.name]: `${auth.prefix}${value}` } };
    case 'basic': {
      const pair = Buffer.from(`${auth.username}:${value}`).toString('base64');
      return { ...credential, headers: { Authorization: `Basic ${pair}` }, secrets: [value, pair] };
    }
    case 'query':
      return { ...credential, query: { [auth.name]: value } };
    case 'oauth_client_credentials': {
      // The secret must be for the host of the authorization server too.
      const secretOf = () => secretFor(new URL(auth.token_url));
      const { value: token, forget } = await tokens(workspaceId, auth, secretOf, signal);
      return {
        ...credential,
        headers: { Authorization: `Bearer ${token}` },
        secrets: [value, token],
        forget,
      };
    }
  }
}

/**
 * Replaces the secrets by `[secret]` in texts and field names, also in other forms in which a server may repeat them.
 * @param secrets each of at least 8 characters
 */
export function redactor(secrets: readonly string[]): <Value>(value: Value) => Value {
  const forms = [...new Set(secrets.flatMap(formsOf))].toSorted((one, other) => other.length - one.length);
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string')
      return forms.reduce((text, form) => text.replaceAll(form, '[secret]'), value);
    if (Array.isArray(value)) return value.map(redact);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [redact(name), redact(each)]));
  };
  return forms.length === 0 ? (value) => value : (redact as <Value>(value: Value) => Value);
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString('base64');
  const percent = [
    encodeURIComponent(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    secret.replaceAll(/[^A-Za-z0-9]/g, (one) => `%${Buffer.from(one).toString('hex').toUpperCase()}`),
  ];
  return [
    ...[secret, JSON.stringify(secret).slice(1, -1), base64, base64.replaceAll('=', '')],
    ...[bytes.toString('base64url'), ...percent],
    ...percent.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ];
}
