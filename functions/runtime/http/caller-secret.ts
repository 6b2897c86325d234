import { type SecretVersions, secretCacheMilliseconds } from '#adapters/cached-secret.ts';

/**
 * After a rotation, the authorizer signs with the previous value for so long: every environment of the web function has
 * then read the new one. The minute is for the clocks of two machines and for slow reads.
 */
const propagationMilliseconds = secretCacheMilliseconds + 60_000;

/**
 * After a rotation, the web function accepts the previous value for so long. The gateway sends the last signature made
 * with it until its cache of the authorizer's response expires. The minute is for requests on their way.
 */
export const overlapMilliseconds = (authorizerCacheSeconds: number): number =>
  propagationMilliseconds + authorizerCacheSeconds * 1000 + 60_000;

/** The value with which the authorizer signs callers. */
export const signingSecret = ({ current, since, previous }: SecretVersions, now: number): string =>
  previous !== undefined && now - since < propagationMilliseconds ? previous : current;

/** The values whose signatures the web function accepts. */
export const acceptedSecrets = (
  { current, since, previous }: SecretVersions,
  now: number,
  authorizerCacheSeconds: number,
): string[] =>
  previous !== undefined && now - since < overlapMilliseconds(authorizerCacheSeconds)
    ? [current, previous]
    : [current];
