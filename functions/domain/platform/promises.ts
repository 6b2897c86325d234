/**
 * Like `Promise.all`, but rejects only when every promise has ended, with the first rejection in the order of the
 * promises. Lambda may freeze a function after its response, so nothing that the function has started may continue
 * then.
 */
export async function allEnded<Promises extends readonly unknown[]>(
  promises: readonly [...Promises],
): Promise<{ -readonly [Index in keyof Promises]: Awaited<Promises[Index]> }> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

/**
 * Milliseconds after a deletion, after which nothing should write to the deleted data any more. A function that had
 * read the data before may write for 900 s, Lambda's longest timeout. The other 300 s are for differences between
 * clocks, and for callers that the gateway has authorized before. These are covered only if `authorizerCacheSeconds` is
 * at most 300.
 */
export const lastWriteAfter = 20 * 60_000;

/**
 * Settles like `work`. If the signal aborts before that, rejects with the signal's reason at once, although the work
 * continues.
 */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}

/** The maximum number of values in a cache, of all workspaces together. A further value empties the cache first. */
const cachedValues = 1000;

export interface Cached<Value> {
  value: Value;
  /** Drops the value from the cache, if it is still there. Call it after a server has rejected the value. */
  forget(): void;
}

/**
 * Makes a cache in the memory of this process. Uses of a key at the same time share one read. A failed read is not
 * cached.
 * @returns a function that gets the cached value while `now` is before its `until`, both in epoch milliseconds, and
 *   reads it anew otherwise
 */
export function timedCache<Value extends { until: number }>() {
  const entries = new Map<string, Cached<Promise<Value>> & { until: number }>();
  return (key: string, now: number, read: () => Promise<Value>): Cached<Promise<Value>> => {
    const cached = entries.get(key);
    if (cached !== undefined && now < cached.until) return cached;
    if (entries.size >= cachedValues) entries.clear();
    // Another use may have read the value anew since.
    const forget = () => entries.get(key) === made && entries.delete(key);
    const made = { value: read(), forget, until: Number.POSITIVE_INFINITY };
    made.value.then(({ until }) => Object.assign(made, { until }), forget);
    entries.set(key, made);
    return made;
  };
}
