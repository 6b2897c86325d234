import { cachedSecret } from '#adapters/cached-secret.ts';
import { environment } from '#runtime/environment/environment.ts';
import { lazily } from '#runtime/environment/lazily.ts';
import { isEqualText, secretsClient } from './stack-secrets.ts';

/** Empty in a stage without a distribution: it trusts no such header. */
const originSecrets = /* @__PURE__ */ lazily(() =>
  (environment('originSecrets') ?? []).map((arn) => cachedSecret(secretsClient, () => arn)),
);

/**
 * Whether a request came through the distribution: only the distribution knows a secret.
 * @param sent the value of `originSecretHeader`
 */
export async function isFromDistribution(sent: unknown): Promise<boolean> {
  if (typeof sent !== 'string') return false;
  // The value that the distribution sends is the first, so the others are read for few requests.
  for (const secret of originSecrets()) if (isEqualText(sent, await secret())) return true;
  return false;
}
