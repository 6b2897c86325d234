import type { ToolAuth } from '#contract/tools.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { SecretValues } from './tool-secret.ts';

/** For whom a credential is, and the address that it is sent to. */
export interface CredentialTarget {
  workspaceId: string;
  url: URL;
  signal: AbortSignal;
}

/** What a request carries to prove who sends it. */
export interface Credential {
  headers: Readonly<Record<string, string>>;
  /** Parameters of the query. */
  query: Readonly<Record<string, string>>;
  /** The texts that results must not have. */
  secrets: readonly string[];
  /** After the server has rejected it: the next credential is made anew. */
  forget(): void;
}

export type ClientAuth = Extract<ToolAuth, { type: 'oauth_client_credentials' }>;

/** Tokens that authorization servers give to clients. */
export interface ClientTokens {
  /**
   * A token, of which all that use the same client of a workspace at once have the same.
   * @param secret of the client
   * @returns also a function that drops the token, after a server has rejected it
   * @throws OutboundFailure, `unauthorized` if the authorization server rejects the secret
   */
  tokenFor(
    workspaceId: string,
    auth: ClientAuth,
    secret: string,
    signal: AbortSignal,
  ): Promise<{ token: string; forget(): void }>;
}

/**
 * The credential of a tool's requests.
 * @throws Error if the secret does not exist or is not for this host. Nothing may be sent then
 */
export async function credentialOf(
  values: SecretValues,
  auth: ToolAuth | undefined,
  { workspaceId, url, signal }: CredentialTarget,
  tokens: ClientTokens,
): Promise<Credential> {
  if (auth === undefined) return { headers: {}, query: {}, secrets: [], forget: () => undefined };
  const value = await values.valueFor(workspaceId, auth.secret, url);
  const credential = {
    ...{ headers: {}, query: {}, secrets: [value] },
    forget: () => values.forget(workspaceId, auth.secret),
  };
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
      const request = async () => {
        // The secret must be for the host of the authorization server too.
        const own = await values.valueFor(workspaceId, auth.secret, new URL(auth.token_url));
        return { own, ...(await tokens.tokenFor(workspaceId, auth, own, signal)) };
      };
      const { own, token, forget } = await request().catch((error) => {
        if (!(error instanceof OutboundFailure && error.kind === 'unauthorized')) throw error;
        // An operator may have replaced it.
        values.forget(workspaceId, auth.secret);
        return request();
      });
      return { headers: { Authorization: `Bearer ${token}` }, query: {}, secrets: [own, token], forget };
    }
  }
}

/**
 * Replaces secrets in what a server has sent, in the forms in which it may repeat them. Returns JSON of the same form.
 * @param secrets each of 8 characters and more
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
    secret.replaceAll(
      /[^A-Za-z0-9]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  ];
  return [
    ...[secret, JSON.stringify(secret).slice(1, -1), base64, base64.replaceAll('=', '')],
    ...[bytes.toString('base64url'), ...percent],
    ...percent.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ];
}
