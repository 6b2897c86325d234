import type { Throttle } from './api-model.ts';

export interface MethodSetting {
  /** `/*` for every resource, else its path behind a slash, with `~1` in place of its own slashes. */
  readonly ResourcePath?: string;
  readonly HttpMethod?: string;
  readonly ThrottlingRateLimit?: number;
  readonly ThrottlingBurstLimit?: number;
}

// API Gateway's own: what an account has for all its APIs in a Region.
const ACCOUNT: Throttle = { requestsPerSecond: 10_000, burst: 5000 };

/** What a stage's settings let a method take. Its own go before those of the whole stage, and none above the account's. */
export function readThrottle(
  settings: readonly MethodSetting[],
  resourcePath: string,
  httpMethod: string,
): Throttle {
  const path = `/${resourcePath.replaceAll('/', '~1')}`;
  const own = settings.find((setting) => setting.ResourcePath === path && setting.HttpMethod === httpMethod);
  const stage = settings.find((setting) => setting.ResourcePath === '/*' && setting.HttpMethod === '*');
  const limitOf = (name: 'ThrottlingRateLimit' | 'ThrottlingBurstLimit', most: number): number =>
    Math.min(own?.[name] ?? stage?.[name] ?? most, most);
  return {
    requestsPerSecond: limitOf('ThrottlingRateLimit', ACCOUNT.requestsPerSecond),
    burst: limitOf('ThrottlingBurstLimit', ACCOUNT.burst),
  };
}

/** Whether a request may go on, which takes a token. Each key, a method, has a bucket of its own. */
export function createThrottle(now = () => performance.now()): (key: object, throttle: Throttle) => boolean {
  const buckets = new WeakMap<object, { tokens: number; at: number }>();
  return (key, { requestsPerSecond, burst }) => {
    const at = now();
    const before = buckets.get(key) ?? { tokens: burst, at };
    const tokens = Math.min(burst, before.tokens + ((at - before.at) / 1000) * requestsPerSecond);
    const goesOn = tokens >= 1;
    buckets.set(key, { tokens: goesOn ? tokens - 1 : tokens, at });
    return goesOn;
  };
}
