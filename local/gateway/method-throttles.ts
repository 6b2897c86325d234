import type { Throttle } from './api-model.ts';

export interface MethodSetting {
  /** `/*` for every resource, `/` for the root; else a slash and the resource's path with `~1` for each slash. */
  readonly ResourcePath?: string;
  readonly HttpMethod?: string;
  readonly ThrottlingRateLimit?: number;
  readonly ThrottlingBurstLimit?: number;
}

// API Gateway's default quota of an account for all its APIs, in most Regions.
const ACCOUNT: Throttle = { requestsPerSecond: 10_000, burst: 5000 };

export function readThrottle(
  settings: readonly MethodSetting[],
  resourcePath: string,
  httpMethod: string,
): Throttle {
  const path = resourcePath === '/' ? '/' : `/${resourcePath.replaceAll('/', '~1')}`;
  const ofMethod = settings.find(
    (setting) => setting.ResourcePath === path && setting.HttpMethod === httpMethod,
  );
  const ofStage = settings.find((setting) => setting.ResourcePath === '/*' && setting.HttpMethod === '*');
  const limitOf = (name: 'ThrottlingRateLimit' | 'ThrottlingBurstLimit', max: number): number =>
    Math.min(ofMethod?.[name] ?? ofStage?.[name] ?? max, max);
  return {
    requestsPerSecond: limitOf('ThrottlingRateLimit', ACCOUNT.requestsPerSecond),
    burst: limitOf('ThrottlingBurstLimit', ACCOUNT.burst),
  };
}

export function createThrottle(now = () => performance.now()): (key: object, throttle: Throttle) => boolean {
  const buckets = new WeakMap<object, { tokens: number; at: number }>();
  return (key, { requestsPerSecond, burst }) => {
    const at = now();
    const before = buckets.get(key) ?? { tokens: burst, at };
    const tokens = Math.min(burst, before.tokens + ((at - before.at) / 1000) * requestsPerSecond);
    const isAllowed = tokens >= 1;
    buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, at });
    return isAllowed;
  };
}
