import type { RunContext } from '../run-context.ts';

/** The ARN of a customer's key that a resource names as its own; undefined for keys of AWS, which all may use. */
export function keyArnOf(
  reference: unknown,
  { region, accountId }: Pick<RunContext, 'region' | 'accountId'>,
): string | undefined {
  if (reference === undefined || /(^|:)alias\/aws\//.test(String(reference))) return undefined;
  const text = String(reference);
  if (/(^|:)alias\//.test(text)) throw new Error(`the key ${text} is not available locally by its alias`);
  return text.startsWith('arn:') ? text : `arn:aws:kms:${region}:${accountId}:key/${text}`;
}
