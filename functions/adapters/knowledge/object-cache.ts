/**
 * Keeps what objects that never change were read as: the last used of them, up to a bound, and at least the last one.
 * Room is made before an object is read, so that what goes and what comes are not held at once.
 */
export function objectCache<Value>(mostBytes: number) {
  const cached = new Map<string, { bytes: number; value: Promise<Value> }>();
  const makeRoomFor = (bytes: number) => {
    let sum = [...cached.values()].reduce((total, entry) => total + entry.bytes, bytes);
    for (const [name, entry] of cached) {
      if (sum <= mostBytes) return;
      sum -= entry.bytes;
      cached.delete(name);
    }
  };
  return {
    /** Those who ask for the same object at once read it once. */
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
