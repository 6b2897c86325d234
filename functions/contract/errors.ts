/** Every way a request can fail: HTTP status and `error_code` (specification, section 7.1). */
export const errorTable = {
  unauthenticated: { status: 400, errorCode: 10001, name: 'SYS_PERMISSION_DENIED' },
  accessDenied: { status: 403, errorCode: 10001, name: 'SYS_PERMISSION_DENIED' },
  badRequest: { status: 400, errorCode: 10006, name: 'SYS_BAD_REQUEST' },
  clientNotAllowed: { status: 403, errorCode: 14103, name: 'WORKSPACE_CLIENT_NOT_ALLOWED' },
  notFound: { status: 404, errorCode: 10003, name: 'SYS_NOT_FOUND' },
  rateLimited: { status: 429, errorCode: 10029, name: 'SYS_RATE_LIMITED' },
  serverError: { status: 500, errorCode: 10005, name: 'SYS_SERVER_ERROR' },
} as const satisfies Record<string, { status: number; errorCode: number; name: string }>;

export type ErrorKind = keyof typeof errorTable;

/** The one error that use cases throw on purpose. Its message reaches the client; of 5xx kinds only `reason` does. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  /** What the envelope carries as `data`. */
  readonly data: Record<string, unknown> | null;
  /** Whole seconds until it is worth trying again, when that is known. */
  readonly retryAfter: number | null;
  /** Of a 5xx, for clients to read: one of a few fixed texts. */
  readonly reason: string | undefined;
  /** What the answer carries besides the headers of every answer. */
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

/** Exact texts (specification, sections 3.3 and 7.2). */
export const agentNotFound = () => new ServiceError('notFound', 'Agent not found');
export const agentVersionNotFound = () => new ServiceError('notFound', 'Agent version not found');
export const chatNotFound = () => new ServiceError('notFound', 'Chat not found');
export const replyInProgress = () =>
  new ServiceError('badRequest', 'A reply is already in progress for this chat', { retryAfter: 1 });
export const agentMismatch = () => new ServiceError('badRequest', 'Agent mismatch');

/** The gateway, which rejects most such requests itself, says the same. */
export const unauthenticatedMessage = 'Missing or invalid API key: send a valid key in the header x-api-key';
export const unauthenticated = () => new ServiceError('unauthenticated', unauthenticatedMessage);

/** Text of every 5xx: it tells the request id, of a reply that failed the reason that its stream tells, and nothing else. */
export const serverErrorMessage = (requestId: string, reason = 'Internal server error'): string =>
  `${reason}, request id ${requestId}`;

/** What the envelope of a failed request has as its `error_code`. */
export const errorCodeOf = (error: unknown): number =>
  error instanceof ServiceError ? error.errorCode : errorTable.serverError.errorCode;
