import type { ApiKey } from '../api-key.ts';

export interface ApiKeyStore {
  byHash(hash: string): Promise<ApiKey | undefined>;
  put(key: ApiKey): Promise<void>;
  list(workspaceId: string): Promise<ApiKey[]>;
  /** The revoked key; undefined when there is none of that id. */
  revoke(keyId: string, at: string): Promise<ApiKey | undefined>;
}
