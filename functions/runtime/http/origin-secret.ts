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

/** Whether a request came through the distribution, which alone knows the secret that it sends along. */
export async function isFromDistribution(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Promise<boolean> {
  const given = headers[originSecretHeader];
  // A stage without a distribution believes nobody.
  if (typeof given !== 'string' || environment('originSecret') === undefined) return false;
  const [sent, known] = [given, await originSecret()].map((text) => Buffer.from(text));
  return sent !== undefined && sent.length === known?.length && timingSafeEqual(sent, known);
}
