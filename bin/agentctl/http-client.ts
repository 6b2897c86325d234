import { setTimeout as pause } from 'node:timers/promises';
import type { Envelope } from '#contract/envelope.ts';
import { retryDelay, secondsOf } from './retry-delay.ts';
import type { ServiceAddress } from './service-address.ts';

/** The service has understood and said no: asking again would change nothing. */
export class ApiRejection extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * What has become of a request. `too many` and `unconnected`: nothing was done. `failed`: it has ended, perhaps after its
 * work was done. `lost`: it may even be under way still.
 */
type Outcome = 'too many' | 'unconnected' | 'failed' | 'lost';

/** It may go better next time. */
export class TemporaryFailure extends Error {
  readonly outcome: Outcome;
  /** Seconds, when the service has named them. */
  readonly retryAfter: number | undefined;

  constructor(outcome: Outcome, message: string, retryAfter?: number) {
    super(message);
    this.outcome = outcome;
    this.retryAfter = retryAfter;
  }
}

export interface Call {
  /** A POST without a body; one with a body needs no telling. */
  method?: 'POST';
  /** JSON. */
  body?: string;
  headers?: Record<string, string>;
  /** How long the answer may take; unlimited for an answer that is read as a stream. */
  seconds?: number;
}

/** The envelope of an answer that succeeded. */
export interface Success<Data> extends Omit<Envelope, 'data'> {
  data: Data;
}

export interface HttpClient {
  /**
   * One request whose answer is read by the caller.
   * @throws Refusal or TemporaryFailure
   */
  open(path: string, call?: Call): Promise<Response>;
  /** One request and its envelope. */
  once<Data>(path: string, call?: Call): Promise<Success<Data>>;
  /** One request that may be made again without harm, until it is answered. */
  sendRequest<Data>(path: string, call?: Call): Promise<Success<Data>>;
  /** Makes an attempt again after temporary failures, and tells of each. */
  persist<Value>(
    attempt: () => Promise<Value>,
    isWorthwhile?: (failure: TemporaryFailure) => boolean,
  ): Promise<Value>;
}

/** A buffered route is cut at 29 s; the rest is for the way of 6 MB over a slow line. */
export const responseTimeoutSeconds = 120;

export interface Patience {
  /** In a row, before giving up. A refusal for the rate (429) is no failure, unless `waitsForRate` is false. */
  attempts: number;
  waitsForRate: boolean;
  log: (line: string) => void;
}

/** A client of the interface with the specification's recommended behaviour (section 8). */
export function httpClient(
  { baseUrl, key }: ServiceAddress,
  { attempts, waitsForRate, log }: Patience,
): HttpClient {
  const open: HttpClient['open'] = async (path, call = {}) => {
    const response = await reach(baseUrl + path, key, call);
    if (response.ok) return response;
    throw await failureOf(response);
  };

  const once = async <Data>(path: string, call: Call = {}): Promise<Success<Data>> => {
    const response = await open(path, { seconds: responseTimeoutSeconds, ...call });
    const text = await response.text().catch((error: unknown) => {
      throw unreachable(error);
    });
    return readEnvelope<Data>(text, baseUrl);
  };

  const persist: HttpClient['persist'] = async (attempt, isWorthwhile = () => true) => {
    let failures = 0;
    for (let retry = 1; ; retry += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof TemporaryFailure) || !isWorthwhile(error)) throw error;
        if (error.outcome !== 'too many' || !waitsForRate) failures += 1;
        if (failures === attempts) throw new Error(`${error.message}; given up after ${attempts} tries`);
        const seconds = retryDelay(retry, error.retryAfter);
        log(`${error.message}; trying again in ${seconds.toFixed(1)} s`);
        await pause(seconds * 1000);
      }
    }
  };

  return { open, once, persist, sendRequest: (path, call) => persist(() => once(path, call)) };
}

async function reach(
  address: string,
  key: string,
  { method, body, headers, seconds }: Call,
): Promise<Response> {
  try {
    return await fetch(address, {
      // The key must not travel to wherever a redirect points.
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
    throw unanswered(error);
  }
}

/** Codes of connections that never stood, so that nothing was asked. */
const unconnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function unanswered(error: unknown): Error {
  if (!(error instanceof TypeError)) return unreachable(error);
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
  // Without a code it is no matter of the network, but of what was asked, such as a key that is no header.
  if (code === undefined) return new Error(`The service cannot be asked: ${message}`);
  const text = `The service cannot be reached (${code})`;
  return unconnected.has(code) ? new TemporaryFailure('unconnected', text) : unreachable(error);
}

/** An answer that did not come, or not to its end. */
export function unreachable(error: unknown): TemporaryFailure {
  const { cause = error } = error as Error;
  const { code, name } = cause as NodeJS.ErrnoException;
  return new TemporaryFailure('lost', `The service's answer did not arrive (${code ?? name})`);
}

async function failureOf(response: Response): Promise<Error> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const said = messageOf(text);
  if (status === 429)
    return new TemporaryFailure('too many', said ?? 'Too many requests (HTTP 429)', secondsOf(headers));
  const message = said ?? `The service answered with HTTP ${status}`;
  if (status < 500) return new ApiRejection(status, message);
  // 502 to 504 are a proxy's: what stands behind it may still be at work.
  const outcome = status > 501 && status < 505 ? 'lost' : 'failed';
  return new TemporaryFailure(outcome, message, secondsOf(headers));
}

function messageOf(text: string): string | undefined {
  try {
    const { message, error_code } = JSON.parse(text) as Partial<Envelope>;
    return typeof message === 'string' ? `${message} (code ${error_code})` : undefined;
  } catch {
    return undefined;
  }
}

function readEnvelope<Data>(text: string, baseUrl: string): Success<Data> {
  try {
    const envelope = JSON.parse(text) as Success<Data>;
    if (envelope.error_code === 0) return envelope;
  } catch {}
  throw new Error(`${baseUrl} does not answer as this service does: is it the base address?`);
}
