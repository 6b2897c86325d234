import { timingSafeEqual } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { environment } from '#runtime/environment/environment.ts';

/** Reads a secret that the stack has generated, by the variable with its ARN. */
export const secretOf = (variable: 'originSecret' | 'callerSecret'): (() => Promise<string>) =>
  cachedSecret(
    () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
    () => environment(variable) ?? '',
  );

/** Compares in a time that does not depend on where the texts differ. */
export function isEqualText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
