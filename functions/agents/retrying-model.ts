import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';
import type { Clock } from '#domain/platform/services.ts';
import { errorOfCall, modelFailureOf } from './model-error.ts';

/** A failed call of a provider, without a status if there was no response. */
export type RejectedCall = Pick<APICallError, 'statusCode' | 'responseBody'>;

export interface RetrySettings {
  /** The number of all attempts, the first one included. Default: `usualAttempts`. */
  attempts?: number | undefined;
  /** The time in milliseconds since 1970. */
  now: () => number;
  /** Returns a number from 0 to 1, for the jitter. */
  random: () => number;
  /** Asked before each attempt. It rejects if the call must not be made. */
  allow: (call: LanguageModelV4CallOptions) => Promise<void>;
  /** Called before each retry. Takes a model call from the reply's budget; returns false if none is left. */
  mayRetry: (failure: ModelFailureKind) => boolean;
  onRejected: (call: RejectedCall) => void;
  /** Rejects if the signal aborts. */
  wait: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

/**
 * Four attempts wait at most 0.5 + 1 + 2 = 3.5 s if the provider asks for no wait. The whole wait is then random, so
 * that replies that failed together do not call together again. Four waits of the longest `Retry-After`, the first of
 * them because of another reply, are 80 s. This is less than the default idle timeout, 90 s.
 */
const usualAttempts = 4;

/**
 * The longest wait before the second attempt, in milliseconds, if the provider asks for none. It doubles with each
 * further attempt.
 */
const firstDelay = 500;

/** The longest `Retry-After` for which a reply waits, in milliseconds. */
const maxRetryAfter = 20_000;

/** The time and the waits of retries, by a clock. */
export const timingOf = (clock: Pick<Clock, 'now' | 'after'>): Pick<RetrySettings, 'now' | 'wait'> => ({
  now: () => clock.now().getTime(),
  wait(milliseconds, signal) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    const abort = () => {
      cancel();
      reject(signal?.reason);
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    return promise;
  },
});

/**
 * By model: the time after which it may be called again, because its provider has asked to wait. A process has one
 * object for each model with its endpoint and key, so all replies of the process wait.
 */
const readyAt = new WeakMap<LanguageModelV4, number>();

/**
 * A model with retries while it is throttled or unavailable. After the first output there is no retry, because clients
 * may have received it. All failures of the model are thrown as ModelFailure, error parts of the stream included.
 */
export interface RetryingModel {
  /**
   * @param onCall called with true before each call, and with false after each call that was not allowed or has failed
   *   before its first output, unless the signal has aborted
   */
  generate(
    options: LanguageModelV4CallOptions,
    onCall?: (isCalled: boolean) => void,
  ): Promise<LanguageModelV4GenerateResult>;
  /**
   * Resolves at the model's first output, or at the end of a stream without output. Rejects if the model fails before
   * that.
   */
  stream(
    options: LanguageModelV4CallOptions,
    onCall?: (isCalled: boolean) => void,
  ): Promise<AsyncIterable<LanguageModelV4StreamPart>>;
}

export function retryingModel(model: LanguageModelV4, settings: RetrySettings): RetryingModel {
  return {
    generate: (options, onCall) =>
      withRetries(model, () => model.doGenerate(options), options, settings, onCall),
    async stream(options, onCall) {
      const { buffered, reader } = await withRetries(
        model,
        async () => upToFirstOutput((await model.doStream(options)).stream.getReader(), settings),
        options,
        settings,
        onCall,
      );
      return streamFrom(buffered, reader, options.abortSignal, settings);
    },
  };
}

async function* streamFrom(
  buffered: LanguageModelV4StreamPart[],
  reader: PartReader,
  signal: AbortSignal | undefined,
  { now }: RetrySettings,
): AsyncGenerator<LanguageModelV4StreamPart> {
  try {
    yield* buffered;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value.type === 'error') throw value.error;
      yield value;
    }
  } catch (error) {
    throw signal?.aborted ? error : modelFailureOf(error, now());
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function withRetries<Result>(
  model: LanguageModelV4,
  call: () => PromiseLike<Result>,
  options: LanguageModelV4CallOptions,
  settings: RetrySettings,
  onCall: (isCalled: boolean) => void = () => undefined,
): Promise<Result> {
  const { abortSignal: signal } = options;
  for (let attempt = 1, delay = 0; ; attempt += 1)
    try {
      await waitUntilReady(model, delay, signal, settings);
      await settings.allow(options);
      onCall(true);
      return await call();
    } catch (error) {
      if (signal?.aborted) throw error;
      onCall(false);
      if (APICallError.isInstance(error)) settings.onRejected(error);
      const failure = errorOfCall(error, settings.now());
      if (!(failure instanceof ModelFailure)) throw failure;
      noteReadiness(model, failure, settings);
      delay = delayAfter(failure, attempt, settings);
      if (!settings.mayRetry(failure.kind)) throw failure;
    }
}

function noteReadiness(model: LanguageModelV4, { retryAfter }: ModelFailure, settings: RetrySettings): void {
  if (retryAfter === undefined || retryAfter > maxRetryAfter) return;
  readyAt.set(model, Math.max(settings.now() + retryAfter, readyAt.get(model) ?? 0));
}

/**
 * Waits until the delay is over and the provider may be called again. For the provider, it waits at most
 * `maxRetryAfter`.
 */
async function waitUntilReady(
  model: LanguageModelV4,
  delay: number,
  signal: AbortSignal | undefined,
  settings: RetrySettings,
): Promise<void> {
  const start = settings.now();
  const latest = start + maxRetryAfter;
  for (let now = start; ; now = settings.now()) {
    // Other replies may be told to wait longer meanwhile.
    const until = Math.max(start + delay, Math.min(readyAt.get(model) ?? 0, latest));
    if (now >= until) return;
    await settings.wait(until - now, signal);
  }
}

/**
 * Returns the milliseconds until the next attempt.
 * @throws ModelFailure if a retry cannot help, if all attempts were made, or if the provider asks to wait too long
 */
function delayAfter(failure: ModelFailure, attempt: number, settings: RetrySettings): number {
  const { kind, message, retryAfter = 0 } = failure;
  if (kind !== 'throttled' && kind !== 'unavailable') throw failure;
  if (attempt >= (settings.attempts ?? usualAttempts))
    throw new ModelFailure(kind, `${message}, the last of ${attempt} times`, failure.retryAfter);
  if (retryAfter > maxRetryAfter)
    throw new ModelFailure(
      kind,
      `${message} and asks to wait ${Math.ceil(retryAfter / 1000)} s, longer than the ${maxRetryAfter / 1000} s that a reply waits`,
      retryAfter,
    );
  return Math.max(firstDelay * 2 ** (attempt - 1) * settings.random(), retryAfter);
}

/** The types of the parts that come before a model's first output. */
const preamble: ReadonlySet<LanguageModelV4StreamPart['type']> = new Set([
  'stream-start',
  'response-metadata',
  'raw',
  'ping',
  'text-start',
  'reasoning-start',
] as const);

type PartReader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

/**
 * Reads up to the first output, or to the end of a stream without output, and returns these parts with the reader of
 * the rest.
 * @throws ModelFailure if the stream fails, or has an error part
 */
async function upToFirstOutput(
  reader: PartReader,
  { now }: RetrySettings,
): Promise<{ buffered: LanguageModelV4StreamPart[]; reader: PartReader }> {
  const buffered: LanguageModelV4StreamPart[] = [];
  for (let hasOutput = false; !hasOutput; ) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw modelFailureOf(error, now());
    });
    if (done) break;
    if (value.type === 'error') {
      reader.cancel().catch(() => undefined);
      throw modelFailureOf(value.error, now());
    }
    buffered.push(value);
    hasOutput = !preamble.has(value.type);
  }
  return { buffered, reader };
}
