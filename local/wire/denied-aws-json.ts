import type { Denial } from '../iam/access-rules.ts';

const NAMES = {
  denied: 'AccessDeniedException',
  'no-credentials': 'MissingAuthenticationTokenException',
  'unknown-key': 'UnrecognizedClientException',
  'wrong-signature': 'InvalidSignatureException',
} as const;

/** A refusal as services with AWS's JSON protocol tell it. */
export const deniedAwsJson = ({ reason, message }: Denial) => ({
  __type: `com.amazon.coral.service#${NAMES[reason]}`,
  Message: message,
});
