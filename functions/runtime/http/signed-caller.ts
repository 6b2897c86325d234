import { createHmac } from 'node:crypto';
import { cachedVersions } from '#adapters/cached-secret.ts';
import { environment } from '#runtime/environment/environment.ts';
import { acceptedSecrets, overlapMilliseconds, signingSecret } from './caller-secret.ts';
import { isEqualText, secretsClient } from './stack-secrets.ts';

const callerSecret = /* @__PURE__ */ cachedVersions(
  secretsClient,
  () => environment('callerSecret') ?? '',
  () => overlapMilliseconds(environment('authorizerCacheSeconds')),
);

/**
 * Signs what the authorizer knows of a caller, for a web function. Anyone can call its endpoint, so it believes only
 * what has this signature.
 */
export async function signCaller(caller: Readonly<Record<string, string>>): Promise<string> {
  const text = Buffer.from(JSON.stringify(caller)).toString('base64url');
  return `${text}.${signatureOf(text, signingSecret(await callerSecret(), Date.now()))}`;
}

/** The caller that the authorizer has signed; undefined without a valid signature. */
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
