/**
 * Resolves when the request is within the rate limit of its API key. The check runs since before the use case, so its
 * reads go on concurrently; nothing may be written before it resolves.
 * @throws rateLimited
 */
export type AwaitRateLimit = () => Promise<void>;
