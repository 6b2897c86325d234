import type { HostAndPort } from '#contract/urls.ts';
import { type Cached, timedCache } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';

export const secretLimits = {
  ofWorkspace: 100,
  /** The maximum size of a value: what KMS encrypts in one call. */
  bytes: 4096,
  /**
   * The minimum length of a value. A shorter one could be a part of other texts, and be removed from results there too.
   */
  characters: 8,
  hosts: 20,
} as const;

/** A secret of a workspace for the tools of its agents. It is sent to its hosts alone. */
export interface ToolSecret {
  /** Unique in the workspace. */
  name: string;
  /** Each is exactly one HOST:PORT. They are sorted, because the ciphertext is bound to them. */
  hosts: readonly string[];
  encrypted: string;
  updatedAt: string;
}

export interface ToolSecretStore {
  get(workspaceId: string, name: string): Promise<ToolSecret | undefined>;
  /** All secrets of the workspace, in the order of names. */
  list(workspaceId: string): Promise<ToolSecret[]>;
  /** Creates or replaces a secret, with an audit entry that has the hosts and no value. */
  put(workspaceId: string, secret: ToolSecret): Promise<void>;
  /** Removes a secret, with an audit entry. Returns false if there is none. */
  remove(workspaceId: string, name: string): Promise<boolean>;
}

/** KMS's encryption context: a value cannot be decrypted for another workspace, name or list of hosts. */
export interface SecretOwner {
  workspaceId: string;
  name: string;
  hosts: readonly string[];
}

export interface ToolSecretCipher {
  encrypt(text: string, owner: SecretOwner): Promise<string>;
  decrypt(encrypted: string, owner: SecretOwner): Promise<string>;
}

/** The host and port of a URL in the form of `hosts`: `mcp.crm.example:443`. */
export const hostOf = ({ hostname, port, protocol }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port || (protocol === 'https:' ? 443 : 80)}`;

/**
 * Whether a secret may be sent to the URL: over https to any, otherwise only to listed addresses.
 * @param allow addresses that may get a secret without TLS, such as those of the stage's setting toolAllow
 */
export function maySendSecret(url: URL, allow: readonly HostAndPort[]): boolean {
  const address = hostOf(url);
  const isListed = ({ host, port }: HostAndPort) =>
    address === `${host}:${port === '*' ? address.slice(host.length + 1) : port}`;
  return url.protocol === 'https:' || allow.some(isListed);
}

/** Milliseconds for which a value is cached, unless a server rejects it. */
const cacheMilliseconds = 5 * 60_000;

/** Reads secrets and caches their decrypted values. */
export class SecretValues {
  readonly #services;
  readonly #cached = timedCache<{ text: string; hosts: readonly string[]; until: number }>();

  constructor(services: { toolSecrets: ToolSecretStore; toolSecretCipher: ToolSecretCipher; clock: Clock }) {
    this.#services = services;
  }

  /**
   * Returns the value of a secret, for a request to this address.
   * @throws Error if there is no such secret, or if it is not for the host. Nothing may be sent then
   */
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
