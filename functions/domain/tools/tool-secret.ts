import type { ToolAuth } from '#contract/tools.ts';
import type { HostAndPort } from '#contract/urls.ts';
import { type Cached, timedCache } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { RemoteRequest } from './remote-tools.ts';

export const secretLimits = {
  ofWorkspace: 100,
  /** The most that KMS encrypts in one call. */
  bytes: 4096,
  /** A shorter value could be a part of other texts, and be removed from results there too. */
  characters: 8,
  hosts: 20,
} as const;

export interface ToolSecret {
  name: string;
  /** Each is one HOST:PORT. They are sorted, because the ciphertext is bound to them. */
  hosts: readonly string[];
  encrypted: string;
  updatedAt: string;
}

export interface ToolSecretStore {
  get(workspaceId: string, name: string): Promise<ToolSecret | undefined>;
  list(workspaceId: string): Promise<ToolSecret[]>;
  put(workspaceId: string, secret: ToolSecret): Promise<void>;
  remove(workspaceId: string, name: string): Promise<boolean>;
}

/** KMS's encryption context: a value cannot be decrypted for another workspace, name or list of hosts. */
export type SecretOwner = Pick<ToolSecret, 'name' | 'hosts'> & { workspaceId: string };

export interface ToolSecretCipher {
  encrypt(text: string, owner: SecretOwner): Promise<string>;
  decrypt(encrypted: string, owner: SecretOwner): Promise<string>;
}

/** In the form of `hosts`, such as `mcp.crm.example:443`. */
export const hostOf = ({ hostname, port, protocol }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port || (protocol === 'https:' ? 443 : 80)}`;

/** @param allow addresses that may get a secret without TLS */
export function maySendSecret(url: URL, allow: readonly HostAndPort[]): boolean {
  const address = hostOf(url);
  const isListed = ({ host, port }: HostAndPort) =>
    address === `${host}:${port === '*' ? address.slice(host.length + 1) : port}`;
  return url.protocol === 'https:' || allow.some(isListed);
}

const cacheMilliseconds = 5 * 60_000;

export class SecretValues {
  readonly #services;
  readonly #cached = timedCache<{ text: string; hosts: readonly string[]; until: number }>();

  constructor(services: { toolSecrets: ToolSecretStore; toolSecretCipher: ToolSecretCipher; clock: Clock }) {
    this.#services = services;
  }

  /** @throws Error if there is no such secret, or if it is not for the host. Nothing may be sent then */
  async valueFor(workspaceId: string, name: string, url: URL): Promise<Cached<string>> {
    const { toolSecrets, toolSecretCipher, clock } = this.#services;
    const now = clock.now().getTime();
    const { value, forget } = this.#cached(`${workspaceId} ${name}`, now, async () => {
      const secret = await toolSecrets.get(workspaceId, name);
      if (secret === undefined) throw new Error(`The workspace has no secret ${name}`);
      const { hosts, encrypted } = secret;
      const text = await toolSecretCipher.decrypt(encrypted, { workspaceId, name, hosts });
      return { text, hosts, until: now + cacheMilliseconds };
    });
    const { text, hosts } = await value;
    if (!hosts.includes(hostOf(url))) throw new Error(`The secret ${name} is not for the host of this tool`);
    return { value: text, forget };
  }
}

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
