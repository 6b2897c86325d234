import type { TouchedItem } from './touched-items.ts';

/** The items of the write transactions in progress. */
export function createTransactionLocks() {
  const locked = new Set<string>();
  return {
    isLocked: ({ itemKey }: TouchedItem) => locked.has(itemKey),
    /** Locks the items until the returned function is called. */
    lock(items: readonly TouchedItem[]): () => void {
      for (const { itemKey } of items) locked.add(itemKey);
      return () => {
        for (const { itemKey } of items) locked.delete(itemKey);
      };
    },
  };
}
