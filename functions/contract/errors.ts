import { bytesInWords, platformLimits } from './limits.ts';

/** Specification, section 7.1, and additions. */
export const errorTable = {
  unauthenticated: { status: 400, errorCode: 10001, name: 'SYS_PERMISSION_DENIED' },
  accessDenied: { status: 403, errorCode: 10001, name: 'SYS_PERMISSION_DENIED' },
  badRequest: { status: 400, errorCode: 10006, name: 'SYS_BAD_REQUEST' },
  clientNotAllowed: { status: 403, errorCode: 14103, name: 'WORKSPACE_CLIENT_NOT_ALLOWED' },
  notFound: { status: 404, errorCode: 10003, name: 'SYS_NOT_FOUND' },
  rateLimited: { status: 429, errorCode: 10029, name: 'SYS_RATE_LIMITED' },
  serverError: { status: 500, errorCode: 10005, name: 'SYS_SERVER_ERROR' },
  unavailable: { status: 503, errorCode: 10005, name: 'SYS_SERVER_ERROR' },
} as const satisfies Record<string, { status: number; errorCode: number; name: string }>;

export type ErrorKind = keyof typeof errorTable;

/** Clients may get its message, but not that of a 5xx. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly data: Record<string, unknown> | null;
  /** In whole seconds, for the header Retry-After. */
  readonly retryAfter: number | null;
  /** Clients get it instead of the message of a 5xx. */
  readonly reason: string | undefined;
  readonly headers: Record<string, string>;

  constructor(
    kind: ErrorKind,
    message: string,
    options: ErrorOptions & {
      data?: Record<string, unknown> | null;
      retryAfter?: number;
      reason?: string;
      headers?: Record<string, string>;
    } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.data = options.data ?? null;
    this.retryAfter = options.retryAfter ?? null;
    this.reason = options.reason;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorTable[this.kind].status;
  }

  get errorCode(): number {
    return errorTable[this.kind].errorCode;
  }
}

// The specification (section 7.2) has the texts of these three and of `agentMismatch`. The others are additions.
export const agentNotFound = () => new ServiceError('notFound', 'Agent not found');
export const agentVersionNotFound = () => new ServiceError('notFound', 'Agent version not found');
export const chatNotFound = () => new ServiceError('notFound', 'Chat not found');
export const replyInProgress = () =>
  new ServiceError('badRequest', 'A reply is already in progress for this chat', { retryAfter: 1 });
export const noReplyInProgress = () =>
  new ServiceError('badRequest', 'No reply is in progress for this chat');
export const noStreamToResume = () =>
  new ServiceError('notFound', 'No stream to resume: send with "resumable": true');
export const invalidField = (param: string, problem: string) =>
  new ServiceError('badRequest', `${param} ${problem}`);
export const agentMismatch = () => new ServiceError('badRequest', 'Agent mismatch');

/** Also the gateway's text for a request without a valid key. */
export const unauthenticatedMessage = 'Missing or invalid API key: send a valid key in the header x-api-key';
export const unauthenticated = () => new ServiceError('unauthenticated', unauthenticatedMessage);

export class BodyTooLarge extends ServiceError {
  constructor(mostBytes: number) {
    super('badRequest', `The request body is too large: at most ${bytesInWords(mostBytes)}`);
  }
}

/** The gateway knows neither the route nor whether the body or the headers are too large. */
export const requestTooLarge = `The request is too large: address and headers may have ${platformLimits.addressAndHeaders} together, a body ${platformLimits.jsonBody}, a form about ${platformLimits.gatewayUpload}; larger files, up to 50 MB, are taken at the address of a stage with large uploads`;

export const serverErrorMessage = (requestId: string, reason = 'Internal server error'): string =>
  `${reason}, request id ${requestId}`;

export const errorCodeOf = (error: unknown): number =>
  error instanceof ServiceError ? error.errorCode : errorTable.serverError.errorCode;

/** The envelope of the specification, section 2.1. */
export const success = (data: unknown, message: string | null = null) => ({ data, message, error_code: 0 });

export const failure = (errorCode: number, message: string, data: unknown = null) => ({
  data,
  message,
  error_code: errorCode,
});
