import type { ToolAuth } from '#contract/tools.ts';
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

/**
 * The credential of a tool's requests.
 * @throws Error if the secret does not exist or is not for this host. Nothing may be sent then
 */
export async function credentialOf(
  values: SecretValues,
  auth: ToolAuth | undefined,
  { workspaceId, url }: CredentialTarget,
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
  const base64 = Buffer.from(secret).toString('base64');
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
    ...[Buffer.from(secret).toString('base64url'), ...percent],
    ...percent.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
  ];
}
