import { cachedSecret } from '#adapters/cached-secret.ts';
import { environment } from '#runtime/environment/environment.ts';
import { lazily } from '#runtime/environment/lazily.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';
import { isEqualText, secretsClient } from './stack-secrets.ts';

/** Empty in a stage without a distribution: it trusts no such header. */
const originSecrets = /* @__PURE__ */ lazily(() =>
  (environment('originSecrets') ?? []).map((arn) => cachedSecret(secretsClient, () => arn)),
);

/** Whether a request came through the distribution: only the distribution knows a secret in the header. */
export async function isFromDistribution(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Promise<boolean> {
  const header = headers[originSecretHeader];
  if (typeof header !== 'string') return false;
  // The value that the distribution sends is the first, so the others are read for few requests.
  for (const secret of originSecrets()) if (isEqualText(header, await secret())) return true;
  return false;
}
