import { reasonOf } from '#local/data/reason-of.ts';

/** What an operator can do about an error of AWS, by the names that AWS and its SDK give to the error. */
const remedies: readonly (readonly [names: readonly string[], remedy: string])[] = [
  [
    ['CredentialsProviderError', 'TokenProviderError'],
    'No AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
  [
    ['ExpiredToken', 'ExpiredTokenException', 'RequestExpired', 'RequestTimeTooSkewed'],
    'The AWS credentials have expired: sign in with aws sso login, or set new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN',
  ],
  [
    [
      'InvalidClientTokenId',
      'UnrecognizedClientException',
      'SignatureDoesNotMatch',
      'InvalidSignatureException',
      'AuthFailure',
    ],
    'AWS does not accept the credentials: check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
];

/** Codes of errors after which nothing has reached AWS. */
const unreachableCodes = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
];

/** Why a call to AWS failed, and what to do; undefined for all other errors. */
export function describeAwsFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', name, message } = error as NodeJS.ErrnoException;
  if (/^Region (is missing|not accepted)/.test(message))
    return 'The AWS Region is missing or wrong: set AWS_REGION, or give the profile of AWS_PROFILE a region';
  if (unreachableCodes.includes(code))
    return `AWS cannot be reached (${reasonOf(error)}): check AWS_REGION and the network`;
  const remedy = remedies.find(([names]) => names.includes(name))?.[1];
  return remedy === undefined ? undefined : `${remedy} (${message.replaceAll(/\s*\n\s*/g, ' ')})`;
}
