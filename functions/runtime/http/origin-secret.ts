import { timingSafeEqual } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { cachedSecret } from '#adapters/cached-secret.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { environment } from '#runtime/environment/environment.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';

const originSecret = /* @__PURE__ */ cachedSecret(
  () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
  () => environment('originSecret') ?? '',
);

/** Whether a request came through the distribution: only the distribution knows the secret in the header. */
export async function isFromDistribution(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Promise<boolean> {
  const header = headers[originSecretHeader];
  // A stage without a distribution trusts no such header.
  if (typeof header !== 'string' || environment('originSecret') === undefined) return false;
  const [sent, secret] = [header, await originSecret()].map((text) => Buffer.from(text));
  return sent !== undefined && sent.length === secret?.length && timingSafeEqual(sent, secret);
}
