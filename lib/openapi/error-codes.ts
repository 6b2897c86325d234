import { type ErrorKind, errorTable } from '#contract/errors.ts';

/** Specification, section 7.1, and additions. */
const meanings: Readonly<Record<ErrorKind, string>> = {
  unauthenticated: 'the API key is missing or invalid',
  accessDenied: 'access is denied',
  badRequest: 'the request is invalid',
  clientNotAllowed: 'the workspace is in whitelist mode, and the external user is missing or not listed',
  notFound: 'the resource does not exist',
  rateLimited: 'too many requests or too many open batches',
  serverError: 'internal server error',
  unavailable: 'the service cannot process the request now',
};

const lines = Object.entries(errorTable).map(
  ([kind, { status, errorCode, name }]) =>
    `- ${errorCode} ${name} (HTTP ${status}): ${meanings[kind as ErrorKind]}`,
);

export const errorCodeText = `The reason of the failure, never 0:\n\n${lines.join('\n')}`;

const { badRequest, serverError } = errorTable;

/** Specification, section 6.1. */
export const replyErrorCodeText = `Service error code, not an HTTP status. ${serverError.errorCode} ${serverError.name}: the reply failed. ${badRequest.errorCode} ${badRequest.name}: the request cannot be processed.`;

/** Specification, section 7.4. */
export const batchResultErrorCodeText = `Why the request failed, null unless it failed:

- 400: the request is invalid
- 408: the batch timed out before the request was processed
- 499: the batch was cancelled before the request was processed
- 500: internal server error while the request was processed`;
