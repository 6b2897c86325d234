/**
 * Rejects only when every promise has ended: Lambda may freeze a function after its response, so nothing that the
 * function has started may continue then. The error is the first one in the order of the promises, not in time.
 */
export async function allEnded<Promises extends readonly unknown[]>(
  promises: readonly [...Promises],
): Promise<{ -readonly [Index in keyof Promises]: Awaited<Promises[Index]> }> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

/**
 * Milliseconds after a deletion until nothing should write to the deleted data any more: 900 s, Lambda's longest
 * timeout, and 300 s, the maximum of `authorizerCacheSeconds`, for callers that the gateway has authorized before.
 */
export const lastWriteAfter = 20 * 60_000;

/** Rejects when the signal aborts, although `work` continues. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}

const cachedValues = 1000;

export interface Cached<Value> {
  value: Value;
  /** Call it after a server has rejected the value. */
  forget(): void;
}

/**
 * A failed read is not cached. Concurrent uses of a key share one read, unless `forget` or a full cache has removed it.
 * `now` and `until` are epoch milliseconds.
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
