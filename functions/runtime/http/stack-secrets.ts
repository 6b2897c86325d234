import { timingSafeEqual } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { lazily } from '#runtime/environment/lazily.ts';

/** For the secrets that the stack has generated. */
export const secretsClient = /* @__PURE__ */ lazily(
  () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
);

/** Compares in a time that does not depend on where the texts differ. */
export function isEqualText(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
