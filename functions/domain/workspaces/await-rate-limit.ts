/**
 * Resolves when the rate limiter has allowed the request. The check starts before the use case, which may read while
 * the check runs. Nothing may be written before it resolves.
 * @throws rateLimited
 */
export type AwaitRateLimit = () => Promise<void>;
