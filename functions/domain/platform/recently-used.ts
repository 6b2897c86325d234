/** @param most the limit for the sum of the sizes. A larger value is not cached, but removes all others */
export function recentlyUsed<Value>(most: number) {
  const entries = new Map<string, { value: Value; size: number }>();
  let sum = 0;
  const remove = (name: string): void => {
    sum -= entries.get(name)?.size ?? 0;
    entries.delete(name);
  };
  return {
    has: (name: string): boolean => entries.has(name),
    get(name: string): Value | undefined {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      entries.delete(name);
      entries.set(name, entry);
      return entry.value;
    },
    set(name: string, value: Value, size = 1): void {
      remove(name);
      for (const oldest of entries.keys()) {
        if (sum + size <= most) break;
        remove(oldest);
      }
      if (sum + size > most) return;
      entries.set(name, { value, size });
      sum += size;
    },
    remove,
    clear(): void {
      entries.clear();
      sum = 0;
    },
  };
}
