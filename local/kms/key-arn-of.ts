import type { RunContext } from '../run-context.ts';

/**
 * The ARN of the customer managed key that encrypts a resource. Undefined for AWS managed keys, which need no
 * permissions.
 * @throws Error for a key's alias
 */
export function keyArnOf(
  reference: unknown,
  { region, accountId }: Pick<RunContext, 'region' | 'accountId'>,
): string | undefined {
  if (reference === undefined || /(^|:)alias\/aws\//.test(String(reference))) return undefined;
  const text = String(reference);
  if (/(^|:)alias\//.test(text)) throw new Error(`the key ${text} is not available locally by its alias`);
  return text.startsWith('arn:') ? text : `arn:aws:kms:${region}:${accountId}:key/${text}`;
}
