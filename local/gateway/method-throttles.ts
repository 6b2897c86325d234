import type { Throttle } from '../wire/throttle.ts';

export interface MethodSetting {
  /** `/*` for every resource, `/` for the root; else a slash and the resource's path with `~1` for each slash. */
  readonly ResourcePath?: string;
  readonly HttpMethod?: string;
  readonly ThrottlingRateLimit?: number;
  readonly ThrottlingBurstLimit?: number;
}

// API Gateway's default quota of an account for all its APIs, in most Regions.
const ACCOUNT: Throttle = { perSecond: 10_000, burst: 5000 };

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
    perSecond: limitOf('ThrottlingRateLimit', ACCOUNT.perSecond),
    burst: limitOf('ThrottlingBurstLimit', ACCOUNT.burst),
  };
}
