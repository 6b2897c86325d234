import type { HostAndPort } from '#contract/urls.ts';
import { type Cached, timedCache } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';

export const secretLimits = {
  ofWorkspace: 100,
  /** What KMS encrypts in one call. */
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
export interface SecretOwner {
  workspaceId: string;
  name: string;
  hosts: readonly string[];
}

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
