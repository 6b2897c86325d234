import type { ServiceException } from '@smithy/core/client';
import { connectionFailureOf } from './connection-failures.ts';

const meanings: readonly (readonly [names: string, meaning: string])[] = [
  [
    'CredentialsProviderError TokenProviderError',
    'No AWS credentials were found: sign in with aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
  [
    'ExpiredToken ExpiredTokenException',
    'The AWS credentials have expired: sign in with aws sso login, or set new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN',
  ],
  ['RequestExpired RequestTimeTooSkewed', 'AWS does not accept the time of this machine: set its clock'],
  [
    'InvalidClientTokenId UnrecognizedClientException SignatureDoesNotMatch InvalidSignatureException ' +
      'InvalidAccessKeyId AuthFailure IncompleteSignature',
    'AWS does not accept the credentials: check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
  [
    'Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException SlowDown ' +
      'ProvisionedThroughputExceededException RequestLimitExceeded TooManyRequestsException LimitExceededException',
    'AWS takes no more calls at this rate: run the command again in some minutes',
  ],
  [
    'ResourceNotFoundException NoSuchBucket StateMachineDoesNotExist NotFoundException TableNotFoundException',
    'AWS does not have what the outputs of the stack name: check --stack, AWS_REGION and the account; if somebody deleted a part of the stack, deploy it again',
  ],
];

const deniedNames = ['AccessDenied', 'AccessDeniedException', 'UnauthorizedOperation'];

/**
 * @param stack undefined for a local run
 * @returns why a call to AWS has failed, and what to do; undefined for other errors
 */
export function describeAwsFailure(error: unknown, stack: string | undefined): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message } = error;
  if (/^Region (is missing|not accepted)/.test(message))
    return 'The AWS Region is missing or wrong: set AWS_REGION, or give the profile of AWS_PROFILE a region';
  const meaning = meanings.find(([names]) => names.split(' ').includes(name))?.[1];
  if (meaning !== undefined) return meaning;
  // The SDK adds `$metadata` to the errors of its calls.
  const { $metadata } = error as Partial<ServiceException>;
  if ($metadata === undefined) return undefined;
  if (deniedNames.includes(name)) return describeDenial(message);
  return describeConnection(error, stack) ?? describeResponse(error, $metadata);
}

function describeDenial(message: string): string {
  const [, user = 'the credentials'] = /User: (\S+)/.exec(message) ?? [];
  const [, action = 'this'] = /not authorized to perform: (\S+)/.exec(message) ?? [];
  const [, resource] = /on resource: (\S+)/.exec(message) ?? [];
  return `AWS does not allow ${user} to do ${action}${resource === undefined ? '' : ` on ${resource}`}: add the permission (docs/operators.md), or use other credentials`;
}

function describeConnection(error: Error, stack: string | undefined): string | undefined {
  const failure = connectionFailureOf(error);
  if (failure === undefined) return undefined;
  const { address = 'an unknown address', reason, remedy } = failure;
  const [system, check] =
    stack === undefined
      ? ['The local run', 'Check that npm start still runs, and run this again: a busy machine needs longer']
      : ['AWS', 'Check AWS_REGION and the network, and run this again'];
  return `${system} cannot be reached at ${address}: ${reason}. ${remedy ?? check}`;
}

function describeResponse(
  { name }: Error,
  { httpStatusCode = 0, requestId }: ServiceException['$metadata'],
): string {
  const id = requestId === undefined ? '' : `, request id ${requestId}`;
  return httpStatusCode >= 500
    ? `AWS could not carry out a call (${httpStatusCode}${id}): run the command again in some minutes`
    : `AWS has rejected a call (${name}, ${httpStatusCode}${id}): check AWS_REGION, AWS_ENDPOINT_URL and that agentctl and the stack are of one version, then report it as CONTRIBUTING.md says`;
}
