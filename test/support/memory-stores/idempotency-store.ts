import { limits } from '#contract/limits.ts';
import type { IdempotencyKey, IdempotencyRecord, Work } from '#domain/platform/idempotency-record.ts';
import type { IdempotencyStore } from '#domain/platform/idempotency-store.ts';

export interface MemoryIdempotencyStore extends IdempotencyStore {
  /** For the transactions of other stores. False, and nothing stored, if the key is in use. */
  add(key: IdempotencyKey, work: Work): boolean;
  findNow(key: IdempotencyKey): IdempotencyRecord | undefined;
}

export function memoryIdempotencyStore(): MemoryIdempotencyStore {
  const records = new Map<string, IdempotencyRecord & { expiresAt: number }>();
  const nameOf = ({ workspaceId, hash }: IdempotencyKey): string => JSON.stringify([workspaceId, hash]);
  const findNow = (key: IdempotencyKey): IdempotencyRecord | undefined => {
    const stored = records.get(nameOf(key));
    if (stored === undefined || stored.expiresAt <= key.at) return undefined;
    return { fingerprint: stored.fingerprint, work: stored.work };
  };
  const add = (key: IdempotencyKey, work: Work): boolean => {
    if (findNow(key) !== undefined) return false;
    const expiresAt = key.at + limits.idempotencyHours * 60 * 60 * 1000;
    records.set(nameOf(key), { fingerprint: key.fingerprint, work, expiresAt });
    return true;
  };
  return {
    add,
    findNow,
    find: async (key) => findNow(key),
    async store(key, work) {
      add(key, work);
      return findNow(key) as IdempotencyRecord;
    },
  };
}
