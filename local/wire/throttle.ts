export interface Throttle {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket for each key. */
export function createThrottle<Key>(now: () => number = () => performance.now()) {
  const buckets = new Map<Key, { tokens: number; at: number }>();

  function bucketOf(key: Key, { perSecond, burst }: Throttle) {
    const at = now();
    const before = buckets.get(key) ?? { tokens: burst, at };
    const tokens = Math.min(burst, before.tokens + ((at - before.at) / 1000) * perSecond);
    const bucket = { tokens, at };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    /** More tokens than there are may be taken: later calls are then throttled for longer. */
    take(key: Key, throttle: Throttle, tokens = 1): boolean {
      const bucket = bucketOf(key, throttle);
      const isAllowed = bucket.tokens >= 1;
      if (isAllowed) bucket.tokens -= tokens;
      return isAllowed;
    },
    /** Takes the tokens even if there are fewer. A negative number gives tokens back. */
    charge(key: Key, throttle: Throttle, tokens: number): void {
      bucketOf(key, throttle).tokens -= tokens;
    },
  };
}
