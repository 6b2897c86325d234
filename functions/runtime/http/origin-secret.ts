import { environment } from '#runtime/environment/environment.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';
import { isEqualText, secretOf } from './stack-secrets.ts';

const originSecret = /* @__PURE__ */ secretOf('originSecret');

/** Whether a request came through the distribution: only the distribution knows the secret in the header. */
export async function isFromDistribution(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Promise<boolean> {
  const header = headers[originSecretHeader];
  // A stage without a distribution trusts no such header.
  if (typeof header !== 'string' || environment('originSecret') === undefined) return false;
  return isEqualText(header, await originSecret());
}
