import type { Batch, BatchRequestItem, BatchResult, ResponseErrorEvent } from './schema.ts';

/** The base class of the errors of this library. An aborted signal throws its own reason instead. */
export class ChatBatchError extends Error {
  override readonly name: string = 'ChatBatchError';
}

/** The response has a status other than 2xx. */
export class ApiError extends ChatBatchError {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** `error_code` of the envelope; undefined without an envelope. */
  readonly errorCode: number | undefined;
  /** Details, such as those of a failed upload; null without any. */
  readonly data: Record<string, unknown> | null;
  /** The id under which the operators find the request in their logs; undefined if the response has none. */
  readonly requestId: string | undefined;
  /** Seconds until a retry is useful, from the header `Retry-After`; undefined without it. */
  readonly retryAfter: number | undefined;
  /** Whether this is the stored error of an earlier request with the same idempotency key. */
  readonly isReplayed: boolean;
  /** Whether the service may have processed the request, in this attempt or in an earlier one. */
  readonly mayBeProcessed: boolean;
  readonly headers: Headers;

  constructor(message: string, response: Pick<ApiError, 'status' | 'errorCode' | 'data' | 'headers'>) {
    const { status, errorCode, data, headers } = response;
    super(message);
    this.status = status;
    this.errorCode = errorCode;
    this.data = data;
    this.headers = headers;
    this.requestId = headers.get('x-request-id') ?? undefined;
    this.retryAfter = retryAfterSeconds(headers);
    this.isReplayed = headers.get('idempotency-replayed') === 'true';
    this.mayBeProcessed = status >= 500;
  }
}

/** 400/10001: the API key is missing, unknown, revoked or expired. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** 403/10001: access is denied, for example because the workspace is disabled. */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}

/** 400/10006: for example, a field is invalid, or the state of the resource does not allow the request. */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError';
}

/** 403/14103: the workspace is in whitelist mode, and the external user is missing or not listed. */
export class UserNotAllowedError extends ApiError {
  override readonly name = 'UserNotAllowedError';
}

/** 404/10003: the resource does not exist, or belongs to another workspace or user. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 429/10029, or any other 429: a limit is exceeded, such as that of requests, model calls or open batches. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** 500/10005, or any other response with a status of 500 or above, except 503. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError';
}

/** 503/10005, or any other 503: the service cannot process the request now. */
export class ServiceUnavailableError extends ApiError {
  override readonly name = 'ServiceUnavailableError';
}

export const errorClasses = {
  '400/10001': AuthenticationError,
  '403/10001': PermissionDeniedError,
  '400/10006': BadRequestError,
  '403/14103': UserNotAllowedError,
  '404/10003': NotFoundError,
  '429/10029': RateLimitError,
  '500/10005': ServerError,
  '503/10005': ServiceUnavailableError,
} as const satisfies Record<string, typeof ApiError>;

/** For a response that is not in `errorClasses`, such as that of a proxy. */
function classOfStatus(status: number): typeof ApiError {
  if (status === 429) return RateLimitError;
  if (status === 503) return ServiceUnavailableError;
  return status >= 500 ? ServerError : ApiError;
}

export function apiErrorOf({ status, headers }: Response, text: string): ApiError {
  let envelope: { message?: unknown; error_code?: unknown; data?: unknown } = {};
  try {
    envelope = Object(JSON.parse(text));
  } catch {}
  const errorCode = typeof envelope.error_code === 'number' ? envelope.error_code : undefined;
  const message =
    typeof envelope.message === 'string' ? envelope.message : `The service responded with HTTP ${status}`;
  const data = typeof envelope.data === 'object' ? (envelope.data as ApiError['data']) : null;
  const ErrorClass: typeof ApiError =
    errorClasses[`${status}/${errorCode}` as keyof typeof errorClasses] ?? classOfStatus(status);
  return new ErrorClass(message, { status, errorCode, data, headers });
}

function retryAfterSeconds(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  // A date of HTTP begins with the name of a day. `Date.parse` would also read `1.5` as a date.
  const until = /^[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000);
}

/** No response came, or only a part of it. */
export class ConnectionError extends ChatBatchError {
  override readonly name: string = 'ConnectionError';
  /** Whether the service may have processed the request, in this attempt or in an earlier one. */
  readonly mayBeProcessed: boolean;

  constructor(message: string, options: { mayBeProcessed?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.mayBeProcessed = options.mayBeProcessed ?? true;
  }
}

/** No whole response came within `timeout`; for a stream and `openResults`, no start of it. */
export class RequestTimeoutError extends ConnectionError {
  override readonly name = 'RequestTimeoutError';
}

export interface PartialReply {
  chatId: number;
  /** Undefined before the first event, except in a stream of `messages.resume`. */
  responseId: string | undefined;
  /** The id of the reply in the history; undefined without the event `response.created`. */
  messageId: number | undefined;
  text: string;
  requestId: string | undefined;
}

/**
 * The stream has ended before its reply was complete. The service normally still completes and stores the reply: do not
 * send the message again.
 */
export class StreamInterruptedError extends ConnectionError {
  override readonly name: string = 'StreamInterruptedError';
  readonly reply: PartialReply;

  constructor(message: string, reply: PartialReply, cause?: unknown) {
    super(message, { cause });
    this.reply = reply;
  }
}

/** No data came within `streamTimeout`. */
export class StreamTimeoutError extends StreamInterruptedError {
  override readonly name = 'StreamTimeoutError';
}

/** The stream has ended with the event `response.error`, whose message says why. */
export class ReplyFailedError extends ChatBatchError {
  override readonly name = 'ReplyFailedError';
  readonly errorCode: number;
  readonly event: ResponseErrorEvent;
  readonly reply: PartialReply;

  constructor(event: ResponseErrorEvent, reply: PartialReply) {
    super(event.message);
    this.errorCode = event.code;
    this.event = event;
    this.reply = reply;
  }
}

/** The signature or the time of a webhook call is missing or wrong: do not use its content. */
export class WebhookVerificationError extends ChatBatchError {
  override readonly name = 'WebhookVerificationError';
}

/** The requests of one batch whose creation or reading has failed. */
export interface FailedPart {
  requests: readonly BatchRequestItem[];
  /** Undefined if no response says that the service has accepted the batch. */
  batch?: Batch;
  error: unknown;
}

/** The creation or the reading of a batch has failed. `results` has all results that came, also those of such a batch. */
export class BatchSubmissionError extends ChatBatchError {
  override readonly name = 'BatchSubmissionError';
  readonly batches: readonly Batch[];
  readonly results: readonly BatchResult[];
  readonly failures: readonly FailedPart[];

  constructor(parts: Pick<BatchSubmissionError, 'batches' | 'results' | 'failures'>) {
    const { batches, results, failures } = parts;
    const requests = failures.reduce((total, failure) => total + failure.requests.length, 0);
    const [first] = failures;
    super(
      `${requests} requests were not carried through: ${first?.error instanceof Error ? first.error.message : first?.error}`,
      { cause: first?.error },
    );
    this.batches = batches;
    this.results = results;
    this.failures = failures;
  }
}
