/**
 * An LRU cache for immutable objects, limited to `maxBytes`. It always caches the newest object, even a larger one. It
 * evicts before it reads an object, so that the old and the new object are not in memory at the same time.
 */
export function objectCache<Value>(maxBytes: number) {
  const cached = new Map<string, { bytes: number; value: Promise<Value> }>();
  const makeRoomFor = (bytes: number) => {
    let sum = [...cached.values()].reduce((total, entry) => total + entry.bytes, bytes);
    for (const [name, entry] of cached) {
      if (sum <= maxBytes) return;
      sum -= entry.bytes;
      cached.delete(name);
    }
  };
  return {
    has: (name: string): boolean => cached.has(name),
    /** Concurrent calls for the same object share one read. A failed read is not cached. */
    async get(name: string, bytes: number, read: () => Promise<Value>): Promise<Value> {
      const known = cached.get(name);
      cached.delete(name);
      if (known === undefined) makeRoomFor(bytes);
      const entry = known ?? { bytes, value: read() };
      cached.set(name, entry);
      try {
        return await entry.value;
      } catch (error) {
        if (cached.get(name) === entry) cached.delete(name);
        throw error;
      }
    },
  };
}
