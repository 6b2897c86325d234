import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  cachedSecret,
  cachedVersions,
  type SecretVersions,
  secretCacheMilliseconds,
} from '#adapters/secrets.ts';
import { environment, lazily } from '#runtime/environment/environment.ts';
import { secretsClient } from '#runtime/environment/secrets-client.ts';

/**
 * After a rotation, environments of the web function may have cached the previous value. The minute is for the clocks
 * of two machines and for slow reads.
 */
const propagationMilliseconds = secretCacheMilliseconds + 60_000;

/**
 * The gateway's cache of the authorizer's response may have a signature with the previous value. The minute is for
 * requests on their way.
 */
export const overlapMilliseconds = (authorizerCacheSeconds: number): number =>
  propagationMilliseconds + authorizerCacheSeconds * 1000 + 60_000;

export const signingSecret = ({ current, since, previous }: SecretVersions, now: number): string =>
  previous !== undefined && now - since < propagationMilliseconds ? previous : current;

export const acceptedSecrets = (
  { current, since, previous }: SecretVersions,
  now: number,
  authorizerCacheSeconds: number,
): string[] =>
  previous !== undefined && now - since < overlapMilliseconds(authorizerCacheSeconds)
    ? [current, previous]
    : [current];

/** Compares in a time that does not depend on where the texts differ. */
function isEqualText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** None in a stage without a distribution: then `isFromDistribution` is always false. */
const originSecrets = /* @__PURE__ */ lazily(() =>
  (environment('originSecrets') ?? []).map((arn) => cachedSecret(secretsClient, () => arn)),
);

/** @param sent the value of `originSecretHeader` */
export async function isFromDistribution(sent: unknown): Promise<boolean> {
  if (typeof sent !== 'string') return false;
  for (const secret of originSecrets()) if (isEqualText(sent, await secret())) return true;
  return false;
}

const callerSecret = /* @__PURE__ */ cachedVersions(
  secretsClient,
  () => environment('callerSecret') ?? '',
  () => overlapMilliseconds(environment('authorizerCacheSeconds')),
);

/** For the web function behind the gateway: anyone can call its endpoint, so it trusts only signed callers. */
export async function signCaller(caller: Readonly<Record<string, string>>): Promise<string> {
  const text = Buffer.from(JSON.stringify(caller)).toString('base64url');
  return `${text}.${signatureOf(text, signingSecret(await callerSecret(), Date.now()))}`;
}

export async function verifyCaller(
  signed: string | string[] | undefined,
): Promise<Record<string, string> | undefined> {
  if (typeof signed !== 'string') return undefined;
  const [text = '', signature = ''] = signed.split('.');
  const accepted = acceptedSecrets(await callerSecret(), Date.now(), environment('authorizerCacheSeconds'));
  if (!accepted.some((secret) => isEqualText(signature, signatureOf(text, secret)))) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, string>;
}

const signatureOf = (text: string, secret: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');
