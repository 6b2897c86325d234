import {
  APICallError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';
import type { Clock } from '#domain/platform/services.ts';
import { errorOfCall, modelFailureOf } from './model-error.ts';
import type { Model } from './models/model-provider.ts';

export type RejectedCall = Pick<APICallError, 'statusCode' | 'responseBody'>;

export interface RetrySettings {
  attempts?: number | undefined;
  now: () => number;
  random: () => number;
  allow: (call: LanguageModelV4CallOptions) => Promise<void>;
  mayRetry: (failure: ModelFailureKind) => boolean;
  onRejected: (call: RejectedCall) => void;
  wait: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

/**
 * Each attempt, even the first, may wait up to `maxRetryAfter`: 80 s for four, less than the default idle timeout of
 * a reply, 90 s.
 */
const usualAttempts = 4;

/**
 * The maximum of the wait before the second attempt, in milliseconds, if the provider asks for none. It doubles with
 * each further attempt.
 */
const firstDelay = 500;

/** In milliseconds. There is no retry if a provider asks to wait longer. */
const maxRetryAfter = 20_000;

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
 * In milliseconds since 1970: when a model may be called again whose provider has asked to wait up to `maxRetryAfter`.
 * Replies share the wait only if a process has one object for each model: see runtime/composition/models-and-tools.ts.
 */
const readyAt = new WeakMap<Model, number>();

/**
 * After the first output there is no retry, because clients may have received it. Until the signal aborts, failures
 * of the model are thrown as ModelFailure, also the error parts of a stream.
 */
export interface RetryingModel {
  /**
   * @param onCall called with true before each call that is allowed, and with false if a call is not allowed or fails
   *   before its first output, unless the signal has aborted
   */
  generate(
    options: LanguageModelV4CallOptions,
    onCall?: (isCalled: boolean) => void,
  ): Promise<LanguageModelV4GenerateResult>;
  /** Resolves at the model's first output, or at the end of a stream without output. */
  stream(
    options: LanguageModelV4CallOptions,
    onCall?: (isCalled: boolean) => void,
  ): Promise<AsyncIterable<LanguageModelV4StreamPart>>;
}

export function retryingModel(model: Model, settings: RetrySettings): RetryingModel {
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
  model: Model,
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

function noteReadiness(model: Model, { retryAfter }: ModelFailure, settings: RetrySettings): void {
  if (retryAfter === undefined || retryAfter > maxRetryAfter) return;
  readyAt.set(model, Math.max(settings.now() + retryAfter, readyAt.get(model) ?? 0));
}

async function waitUntilReady(
  model: Model,
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

const preamble: ReadonlySet<LanguageModelV4StreamPart['type']> = new Set([
  'stream-start',
  'response-metadata',
  'raw',
  'ping',
  'text-start',
  'reasoning-start',
] as const);

type PartReader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

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
