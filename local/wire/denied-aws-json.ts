import type { Denial } from '../iam/access-rules.ts';

const NAMES = {
  denied: 'AccessDeniedException',
  'no-credentials': 'MissingAuthenticationTokenException',
  'unknown-key': 'UnrecognizedClientException',
  'wrong-signature': 'InvalidSignatureException',
} as const;

/** The error body that services with AWS's JSON protocol return for a denied call. */
export const deniedAwsJson = ({ reason, message }: Denial) => ({
  __type: `com.amazon.coral.service#${NAMES[reason]}`,
  Message: message,
});
