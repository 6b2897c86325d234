import { setTimeout as pause } from 'node:timers/promises';
import type { Envelope } from '#contract/envelope.ts';
import { errorTable } from '#contract/errors.ts';
import { reasonOf } from '#local/data/reason-of.ts';
import { retryAfterSeconds, retryDelay } from './retry-delay.ts';
import type { ServiceAddress } from './service-address.ts';

/** The service has rejected the request: a retry would change nothing. */
export class ApiRejection extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * What is known about a failed request. `rate-limited` and `not-connected`: the service did no work. `failed`: the
 * request has ended, and its work may have been done. `unknown`: the service may still be working on it.
 */
type Outcome = 'rate-limited' | 'not-connected' | 'failed' | 'unknown';

/** A failure after which a retry may succeed. */
export class TemporaryFailure extends Error {
  readonly outcome: Outcome;
  /** Seconds, from the header Retry-After; undefined without it. */
  readonly retryAfter: number | undefined;

  constructor(outcome: Outcome, message: string, retryAfter?: number) {
    super(message);
    this.outcome = outcome;
    this.retryAfter = retryAfter;
  }
}

export interface Call {
  /** Only for a POST without a body: a call with a body is always a POST. */
  method?: 'POST';
  /** JSON. */
  body?: string;
  headers?: Record<string, string>;
  /** The timeout of the response; unlimited by default, for a response that is read as a stream. */
  seconds?: number;
}

/** The envelope of a successful response. */
export interface Success<Data> extends Omit<Envelope, 'data'> {
  data: Data;
}

export interface HttpClient {
  /**
   * Sends one request. The caller reads the response.
   * @throws ApiRejection or TemporaryFailure
   */
  open(path: string, call?: Call): Promise<Response>;
  /**
   * Sends one request and reads its envelope.
   * @throws ApiRejection or TemporaryFailure
   */
  once<Data>(path: string, call?: Call): Promise<Success<Data>>;
  /** Sends a request that is safe to repeat, and retries it after temporary failures. */
  sendRequest<Data>(path: string, call?: Call): Promise<Success<Data>>;
  /** Retries an attempt after temporary failures, and logs each. By default every temporary failure is retried. */
  withRetries<Value>(
    attempt: () => Promise<Value>,
    shouldRetry?: (failure: TemporaryFailure) => boolean,
  ): Promise<Value>;
}

/** The gateway ends a buffered route after 29 s. The rest is for the transfer of 6 MB over a slow connection. */
export const responseTimeoutSeconds = 120;

interface RetryOptions {
  /**
   * The maximum of failed attempts. A rejection by the rate limiter (429) counts only if `waitsForRateLimit` is false.
   */
  attempts: number;
  waitsForRateLimit: boolean;
  log: (line: string) => void;
}

/** An HTTP client of the service that behaves as the specification recommends (section 8). */
export function httpClient({ baseUrl, key }: ServiceAddress, retryOptions: RetryOptions): HttpClient {
  const open: HttpClient['open'] = async (path, call = {}) => {
    const response = await fetchResponse(baseUrl + path, key, call);
    if (response.ok) return response;
    throw await failureOf(response);
  };

  const once = async <Data>(path: string, call: Call = {}): Promise<Success<Data>> => {
    const response = await open(path, { seconds: responseTimeoutSeconds, ...call });
    const text = await response.text().catch((error: unknown) => {
      throw incompleteResponse(error);
    });
    return readEnvelope<Data>(text, baseUrl);
  };

  const withRetries: HttpClient['withRetries'] = (attempt, shouldRetry = () => true) =>
    retryTemporaryFailures(attempt, shouldRetry, retryOptions);

  return { open, once, withRetries, sendRequest: (path, call) => withRetries(() => once(path, call)) };
}

async function retryTemporaryFailures<Value>(
  attempt: () => Promise<Value>,
  shouldRetry: (failure: TemporaryFailure) => boolean,
  { attempts, waitsForRateLimit, log }: RetryOptions,
): Promise<Value> {
  let failures = 0;
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TemporaryFailure) || !shouldRetry(error)) throw error;
      if (error.outcome !== 'rate-limited' || !waitsForRateLimit) failures += 1;
      if (failures === attempts) throw new Error(`${error.message}; gave up after ${attempts} attempts`);
      const seconds = retryDelay(retry, error.retryAfter);
      log(`${error.message}; trying again in ${seconds.toFixed(1)} s`);
      await pause(seconds * 1000);
    }
  }
}

async function fetchResponse(
  address: string,
  key: string,
  { method, body, headers, seconds }: Call,
): Promise<Response> {
  try {
    return await fetch(address, {
      // A redirect must not send the key to another server.
      redirect: 'manual',
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(method !== undefined && { method }),
      ...(body !== undefined && { method: 'POST', body }),
      ...(seconds !== undefined && { signal: AbortSignal.timeout(seconds * 1000) }),
    });
  } catch (error) {
    throw connectionFailure(error, new URL(address).origin);
  }
}

/** Error codes that mean: no connection was opened, so the service did not receive the request. */
const notConnectedCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function connectionFailure(error: unknown, origin: string): Error {
  if (!(error instanceof TypeError)) return incompleteResponse(error);
  const cause = (error.cause ?? error) as NodeJS.ErrnoException;
  const { code, message } = cause;
  // An error without a code is not the network's. The request itself is invalid, for example a key that no header can
  // have.
  if (code === undefined) return new Error(`The request cannot be sent: ${message}`);
  const text = `The service cannot be reached at ${origin}: ${reasonOf(cause)}`;
  return notConnectedCodes.has(code)
    ? new TemporaryFailure('not-connected', text)
    : incompleteResponse(error);
}

/** The failure of a request whose response is missing or incomplete. */
export function incompleteResponse(error: unknown): TemporaryFailure {
  const { cause = error } = error as Error;
  const { code, name } = cause as NodeJS.ErrnoException;
  const reason = code === undefined ? name : reasonOf(cause);
  return new TemporaryFailure('unknown', `The service sent no complete response (${reason})`);
}

async function failureOf(response: Response): Promise<Error> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const reason = messageOf(text, status);
  if (status === 429)
    return new TemporaryFailure(
      'rate-limited',
      reason ?? 'Too many requests (HTTP 429)',
      retryAfterSeconds(headers),
    );
  const message = reason ?? `The service responded with HTTP ${status}`;
  if (status < 500) return new ApiRejection(status, message);
  // 502, 503 and 504 come from a proxy. The service behind it may still be working on the request.
  const outcome = status > 501 && status < 505 ? 'unknown' : 'failed';
  return new TemporaryFailure(outcome, message, retryAfterSeconds(headers));
}

const { unauthenticated } = errorTable;

const keyRemedy = ': check --key, or AGENT_SERVICE_KEY';

function messageOf(text: string, status: number): string | undefined {
  try {
    const { message, error_code } = JSON.parse(text) as Partial<Envelope>;
    if (typeof message !== 'string') return undefined;
    const isRejectedKey = status === unauthenticated.status && error_code === unauthenticated.errorCode;
    return `${message} (code ${error_code})${isRejectedKey ? keyRemedy : ''}`;
  } catch {
    return undefined;
  }
}

function readEnvelope<Data>(text: string, baseUrl: string): Success<Data> {
  try {
    const envelope = JSON.parse(text) as Success<Data>;
    if (envelope.error_code === 0) return envelope;
  } catch {}
  throw new Error(`The response of ${baseUrl} is not one of this service: is it the base address?`);
}
