import { accessKeyOf } from '../wire/access-key-of.ts';
import type { AccessRules, Denial } from './access-rules.ts';
import { hasValidSignature, type SignedRequest, type SigningStyle } from './signature.ts';

export const secretOf = (
  { operator, sessions }: Pick<AccessRules, 'operator' | 'sessions'>,
  accessKeyId: string | undefined,
): string | undefined =>
  accessKeyId !== undefined && accessKeyId === operator?.accessKeyId
    ? operator.secretAccessKey
    : sessions.get(accessKeyId ?? '')?.secretAccessKey;

/** Undefined if the signature is right, or if the access key is unknown or missing. */
export function checkSignature(
  request: SignedRequest,
  body: string | Buffer,
  rules: Pick<AccessRules, 'operator' | 'sessions'>,
  style: SigningStyle = 'other',
): Denial | undefined {
  const secret = secretOf(rules, accessKeyOf(request.headers));
  if (secret === undefined || hasValidSignature(request, body, secret, style)) return undefined;
  return {
    reason: 'wrong-signature',
    message:
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
  };
}
