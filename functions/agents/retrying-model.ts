import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/model-failure.ts';
import { modelFailureOf } from './model-error.ts';

export interface RetryTiming {
  /** Calls in all. */
  attempts: number;
  /** Milliseconds before the second call; each further wait is twice as long. */
  firstDelay: number;
  /** Milliseconds that a provider may ask to wait. */
  longestRetryAfter: number;
  /** From 0 to 1. */
  random: () => number;
  /** Asked before each wait, whether the reply has a call for it. */
  mayRetry: () => boolean;
  /** Told before each wait. */
  onRetry: (failure: ModelFailureKind) => void;
  /** Rejects when the signal aborts. */
  wait: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

/**
 * Four calls wait 0.5 + 1 + 2 = 3.5 s, 4.4 s with all jitter: what a moment's throttling takes, and a user bears. Three
 * waits of the longest `Retry-After` are 60 s, less than the 90 s after which a silent stream has timed out.
 */
const usualTiming: RetryTiming = {
  attempts: 4,
  firstDelay: 500,
  longestRetryAfter: 20_000,
  random: Math.random,
  mayRetry: () => true,
  onRetry: () => undefined,
  wait: (milliseconds, signal) => sleep(milliseconds, undefined, signal && { signal }),
};

/**
 * A model that is asked again while it is throttled or unavailable, as long as it has said nothing: what was said once
 * cannot be taken back. All its failures are ModelFailures that it throws, also those that its stream tells.
 */
export interface RetryingModel {
  generate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult>;
  /** Resolves with the first thing that the model says; what fails before rejects. */
  stream(options: LanguageModelV4CallOptions): Promise<AsyncIterable<LanguageModelV4StreamPart>>;
}

export function retryingModel(model: LanguageModelV4, timing: Partial<RetryTiming> = {}): RetryingModel {
  const times = { ...usualTiming, ...timing };
  return {
    generate: (options) => retrying(() => model.doGenerate(options), options.abortSignal, times),
    async stream(options) {
      const { buffered, reader } = await retrying(
        async () => upToFirstOutput((await model.doStream(options)).stream.getReader()),
        options.abortSignal,
        times,
      );
      return wholeStream(buffered, reader, options.abortSignal);
    },
  };
}

async function* wholeStream(
  buffered: LanguageModelV4StreamPart[],
  reader: PartReader,
  signal: AbortSignal | undefined,
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
    throw signal?.aborted ? error : modelFailureOf(error);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function retrying<Result>(
  call: () => PromiseLike<Result>,
  signal: AbortSignal | undefined,
  timing: RetryTiming,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await call();
    } catch (error) {
      if (signal?.aborted) throw error;
      const failure = modelFailureOf(error);
      const delay = delayAfter(failure, attempt, timing);
      if (!timing.mayRetry()) throw failure;
      timing.onRetry(failure.kind);
      await timing.wait(delay, signal);
    }
}

/** @throws ModelFailure when there is nothing to wait for */
function delayAfter(failure: ModelFailure, attempt: number, timing: RetryTiming): number {
  const { kind, message, retryAfter } = failure;
  if (kind !== 'throttled' && kind !== 'unavailable') throw failure;
  if (attempt >= timing.attempts)
    throw new ModelFailure(kind, `${message}, the last of ${attempt} times`, retryAfter);
  if (retryAfter === undefined) return timing.firstDelay * 2 ** (attempt - 1) * (0.75 + timing.random() / 2);
  if (retryAfter > timing.longestRetryAfter)
    throw new ModelFailure(
      kind,
      `${message} and asks to wait ${Math.ceil(retryAfter / 1000)} s, longer than the ${timing.longestRetryAfter / 1000} s that a reply waits`,
      retryAfter,
    );
  return retryAfter;
}

/** Comes before anything that a model says. */
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
 * What comes up to the first thing that the model says, and the reader of what follows.
 * @throws what the stream tells or fails with before
 */
async function upToFirstOutput(
  reader: PartReader,
): Promise<{ buffered: LanguageModelV4StreamPart[]; reader: PartReader }> {
  const buffered: LanguageModelV4StreamPart[] = [];
  for (let hasOutput = false; !hasOutput; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value.type === 'error') {
      reader.cancel().catch(() => undefined);
      throw value.error;
    }
    buffered.push(value);
    hasOutput = !preamble.has(value.type);
  }
  return { buffered, reader };
}
