import {
  ApiError,
  apiErrorOf,
  ChatBatchError,
  ConnectionError,
  RateLimitError,
  RequestTimeoutError,
  ServiceUnavailableError,
} from './errors.ts';
import type { Pagination } from './schema.ts';
import { onAbort, sleep, startTimer } from './waiting.ts';

export interface RequestOptions {
  /** Ends the request, which throws the signal's reason. The service may still process it. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds for each attempt; for a stream and `openResults`, until the response starts. By default the client's.
   */
  timeout?: number | undefined;
  maxRetries?: number | undefined;
  waitForRateLimit?: boolean | undefined;
  /** Whether a 429 is thrown without a retry, because the caller itself waits. */
  throwsRateLimit?: boolean | undefined;
}

export interface TransportOptions {
  baseUrl: string;
  apiKey: string;
  fetch: typeof fetch;
  timeout: number;
  maxRetries: number;
  waitForRateLimit: boolean;
  retryDelay: number;
  onRetry: (error: unknown, milliseconds: number) => void;
}

export interface Call<Value> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: object | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether a second execution does no harm; true by default. */
  isRepeatable?: boolean;
  isPatient?: boolean;
  read?: (envelope: Envelope, headers: Headers) => Value;
  /**
   * Called with an error after an earlier attempt that may have done the work. Returns the result if the work seems to
   * be done.
   */
  recover?: (error: ApiError) => Promise<Value | undefined> | Value | undefined;
}

export interface Envelope {
  data: unknown;
  message: string | null;
  error_code: number;
  pagination?: Pagination;
}

export interface WithResponse<Value> {
  data: Value;
  status: number;
  headers: Headers;
  /** The id under which the operators find the request in their logs. */
  requestId: string | undefined;
}

/** `withResponse` adds the request id, the status and the headers. */
export interface ApiPromise<Value> extends Promise<Value> {
  withResponse(): Promise<WithResponse<Value>>;
}

export interface OpenResponse {
  response: Response;
  close(reason?: unknown): void;
}

export interface Transport {
  request<Value>(call: Call<Value>, options?: RequestOptions): ApiPromise<Value>;
  open(call: Call<never>, options?: RequestOptions): Promise<OpenResponse>;
  /** Returns milliseconds. Retries count from 1; `retryAfter` is in seconds. */
  delay(retry: number, retryAfter?: number): number;
}

const longestDelay = 60_000;
/** A streamed reply may take 300 s. */
const longestReply = 330_000;
/** How long after its start a patient request is retried after a failure other than 429. */
const longestOutage = 60 * 60_000;

export function createTransport(defaults: TransportOptions): Transport {
  const delay: Transport['delay'] = (retry, retryAfter) => {
    const wait =
      retryAfter === undefined
        ? Math.min(defaults.retryDelay * 2 ** (retry - 1), longestDelay)
        : Math.max(retryAfter * 1000, defaults.retryDelay);
    // Jitter: clients that were rejected at the same time should not retry at the same time.
    return wait * (1.1 + 0.15 * Math.random());
  };

  const open: Transport['open'] = (call, options = {}) =>
    withRetries(call, options, { ...defaults, delay }, () =>
      attempt(defaults, call, options, async (response, close) => ({ response, close }), true),
    );

  const request = <Value>(call: Call<Value>, options: RequestOptions = {}): ApiPromise<Value> => {
    const recover = async (error: unknown) => {
      if (!(error instanceof ApiError)) return undefined;
      const value = await call.recover?.(error);
      return value === undefined ? undefined : withResponse(value, error.status, error.headers);
    };
    const read = call.read ?? (({ data }: Envelope) => data as Value);
    const attemptOnce = () =>
      attempt(defaults, call, options, async (response) => {
        const envelope = readEnvelope(await response.text(), defaults.baseUrl);
        return withResponse(read(envelope, response.headers), response.status, response.headers);
      });
    return apiPromise(withRetries(call, options, { ...defaults, delay }, attemptOnce, recover));
  };

  return { request, open, delay };
}

export function apiPromise<Value>(promise: Promise<WithResponse<Value>>): ApiPromise<Value> {
  const value = promise.then(({ data }) => data);
  return Object.assign(value, {
    withResponse() {
      // The failure is reported by the other promise.
      value.catch(() => undefined);
      return promise;
    },
  });
}

async function withRetries<Value, Result>(
  call: Call<Value>,
  options: RequestOptions,
  defaults: TransportOptions & Pick<Transport, 'delay'>,
  attempt: () => Promise<Result>,
  recover: (error: unknown) => Promise<Result | undefined> = async () => undefined,
): Promise<Result> {
  const { signal } = options;
  const failures = new Failures(call, options, defaults);
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      const recovered = failures.mayHaveWorked ? await recover(error) : undefined;
      if (recovered !== undefined) return recovered;
      if (!failures.allowRetry(error)) throw error;
      const delay = defaults.delay(retry, error instanceof ApiError ? error.retryAfter : undefined);
      defaults.onRetry(error, delay);
      await sleep(delay, signal);
    }
  }
}

class Failures {
  readonly #call: Call<unknown>;
  readonly #maxRetries: number;
  readonly #waitsForRateLimit: boolean;
  readonly #throwsRateLimit: boolean;
  readonly #startedAt = Date.now();
  /** When an attempt first failed with `mayBeProcessed`. */
  #lostAt: number | undefined;
  #count = 0;

  constructor(call: Call<unknown>, options: RequestOptions, defaults: TransportOptions) {
    this.#call = call;
    this.#maxRetries = options.maxRetries ?? defaults.maxRetries;
    this.#throwsRateLimit = options.throwsRateLimit === true;
    const { waitForRateLimit = defaults.waitForRateLimit } = options;
    this.#waitsForRateLimit = waitForRateLimit || call.isPatient === true;
  }

  get mayHaveWorked(): boolean {
    return this.#lostAt !== undefined;
  }

  /** Marks the error too, if this attempt or an earlier one may have been processed. */
  allowRetry(error: unknown): boolean {
    const isAllowed = this.#isRetried(error);
    if (this.mayHaveWorked) markAsPerhapsProcessed(error);
    return isAllowed;
  }

  #isRetried(error: unknown): boolean {
    if (mayHaveWorked(error)) this.#lostAt ??= Date.now();
    if (error instanceof RateLimitError && this.#throwsRateLimit) return false;
    if (error instanceof RateLimitError && !error.isReplayed && this.#waitsForRateLimit) return true;
    if (!isRetriable(error, this.#call)) return false;
    if (this.#call.isPatient === true) return Date.now() - this.#startedAt < longestOutage;
    if (!this.#isOwnReply(error)) this.#count += 1;
    return this.#count <= this.#maxRetries;
  }

  /** Whether the reply in progress may be that of a lost attempt of this request. Such a failure is not counted. */
  #isOwnReply(error: unknown): boolean {
    return isReplyInProgress(error) && this.#lostAt !== undefined && Date.now() - this.#lostAt < longestReply;
  }
}

/** By 400 with `Retry-After`, the service says that the chat has a reply in progress. */
const isReplyInProgress = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 400 && error.retryAfter !== undefined;

/** An earlier attempt of the request may have been processed. */
export function markAsPerhapsProcessed(error: unknown): void {
  if (error instanceof ApiError || error instanceof ConnectionError)
    Object.assign(error, { mayBeProcessed: true });
}

const mayHaveWorked = (error: unknown): boolean =>
  (error instanceof ConnectionError || error instanceof ApiError) && error.mayBeProcessed;

function isRetriable(error: unknown, { isRepeatable = true }: Pick<Call<never>, 'isRepeatable'>): boolean {
  if (error instanceof ConnectionError) return isRepeatable || !error.mayBeProcessed;
  if (!(error instanceof ApiError) || error.isReplayed) return false;
  if ((error.retryAfter ?? 0) * 1000 > longestDelay) return false;
  if (error instanceof RateLimitError) return true;
  if (error instanceof ServiceUnavailableError) return isRepeatable || error.retryAfter !== undefined;
  return isRepeatable && (error.status >= 500 || isReplyInProgress(error));
}

const withResponse = <Value>(data: Value, status: number, headers: Headers): WithResponse<Value> => ({
  data,
  status,
  headers,
  requestId: headers.get('x-request-id') ?? undefined,
});

function readEnvelope(text: string, baseUrl: string): Envelope {
  let envelope: Envelope | undefined;
  try {
    envelope = JSON.parse(text) as Envelope;
  } catch (cause) {
    // A connection that ends early leaves the start of an envelope, or nothing.
    if (text === '' || text.startsWith('{'))
      throw new ConnectionError('The response is incomplete', { cause });
  }
  if (envelope?.error_code === 0) return envelope;
  throw new ChatBatchError(`The response of ${baseUrl} is not one of this service: is it the base address?`);
}

/** With `staysOpen`, the body is read after the return; `signal` and `close` still end it, `timeout` does not. */
async function attempt<Result>(
  { baseUrl, apiKey, fetch, ...defaults }: TransportOptions,
  { method, path, query, body, headers }: Call<unknown>,
  { signal, timeout = defaults.timeout }: RequestOptions,
  use: (response: Response, close: OpenResponse['close']) => Promise<Result>,
  staysOpen = false,
): Promise<Result> {
  signal?.throwIfAborted();
  const isForm = body instanceof FormData;
  // Before the request, so that a value that is not JSON does not count as a lost connection.
  const content = isForm ? body : JSON.stringify(body);
  const controller = new AbortController();
  const unsubscribe = onAbort(signal, () => controller.abort(signal?.reason));
  const close = (reason?: unknown) => {
    unsubscribe();
    controller.abort(reason);
  };
  const timeoutError = new RequestTimeoutError(`No response within ${timeout} ms`);
  const endTimer = startTimer(timeout, () => controller.abort(timeoutError));
  let isOpen = false;
  try {
    const response = await fetch(`${baseUrl}${path}${queryOf(query)}`, {
      method,
      // A redirect must not send the key to another server.
      redirect: 'manual',
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(content !== undefined && { body: content }),
      signal: controller.signal,
    });
    if (!response.ok) throw apiErrorOf(response, await response.text());
    const result = await use(response, close);
    isOpen = staysOpen;
    return result;
  } catch (error) {
    signal?.throwIfAborted();
    if (controller.signal.aborted) throw timeoutError;
    throw error instanceof ChatBatchError ? error : connectionErrorOf(error, baseUrl);
  } finally {
    endTimer();
    if (!isOpen) unsubscribe();
  }
}

export function queryOf(query: object = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Codes of Node.js for connections that were never opened. */
const notConnectedCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** @param baseUrl undefined for an open stream */
export function connectionErrorOf(error: unknown, baseUrl?: string): ConnectionError {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  const code = typeof cause?.code === 'string' ? cause.code : undefined;
  const isConnected = baseUrl === undefined || code === undefined || !notConnectedCodes.has(code);
  return new ConnectionError(
    isConnected
      ? `The connection was lost${code === undefined ? '' : ` (${code})`}`
      : `The service cannot be reached at ${baseUrl}: ${code}`,
    { mayBeProcessed: isConnected, cause: error },
  );
}
