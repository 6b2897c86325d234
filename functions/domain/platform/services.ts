import type { ReasoningStep } from '#contract/message.ts';
import type { ModelFailureKind } from './failures.ts';
import type { IdempotencyStore } from './idempotency.ts';

export type Cancel = () => void;

export interface Clock {
  now(): Date;
  after(milliseconds: number, call: () => void): Cancel;
  every(milliseconds: number, call: () => void): Cancel;
}

/** Makes random identifiers. Those of `uuid` also increase with time. */
export interface Identifiers {
  uuid(): string;
  workspaceId(): string;
  /** `ak_` and 32 random bytes in base 62. */
  apiKey(): string;
  apiKeyId(): string;
}

/** Structured log lines. Callers must not pass message texts, keys or secrets as fields. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/**
 * `stalled`: the idle timeout has aborted the reply. `slow`: its deadline has. These are values of a metric's
 * dimension.
 */
export type FailureOfModel = ModelFailureKind | 'stalled' | 'slow';

/**
 * Why a model call is retried. `invalid-reply`: its text was not in the form of the reply; `fallback`: another model is
 * called. These are values of a metric's dimension.
 */
export type RetryReason = ModelFailureKind | 'invalid-reply' | 'fallback';

/** Metrics for operators. Recording one is cheap: they are buffered in memory. */
export interface Meter {
  /** Records the model calls and the steps of a reply or a title that has ended, complete or not. */
  replied(reply: { calls: readonly CountedCall[]; reasoningSteps: readonly ReasoningStep[] }): void;
  modelFailed(model: string, failure: FailureOfModel): void;
  modelRetried(model: string, reason: RetryReason): void;
  /** A worker has processed requests of batches: `delayed` ones are processed again later. */
  requestsProcessed(requests: { done: number; failed: number; delayed: number }): void;
  /** A batch has ended. `age`: milliseconds since its creation. */
  batchEnded(status: 'completed' | 'failed' | 'cancelled', age: number): void;
  webhookCalled(outcome: 'delivered' | 'refused' | 'unreachable' | 'gone'): void;
  keyRejected(reason: 'unknown' | 'revoked' | 'expired' | 'disabled'): void;
  usageNotCounted(): void;
}

/**
 * A model call. `callType` is `chat`, `title`, or the type of the reasoning step that made the call. `promptTokens`
 * contains the tokens that were read from the provider's cache, and those that were written to it.
 */
export type CountedCall = [
  model: string,
  callType: string,
  promptTokens: number,
  completionTokens: number,
  cachedTokens?: number,
  writtenTokens?: number,
];

/**
 * Adds counts of the same name. A count that is missing in the second object is 0; a count that only the second object
 * has is left out.
 */
export const sumOf = <Counts extends { [Name in keyof Counts]: number }>(
  one: Counts,
  other: { readonly [Name in keyof Counts]?: number | undefined },
): Counts =>
  Object.fromEntries(
    Object.entries<number>(one).map(([name, count]) => [name, count + (other[name as keyof Counts] ?? 0)]),
  ) as Counts;

/** The items in their order, in groups of the given size. The last group may be smaller. */
export const groupsOf = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

/**
 * Makes a function that calls the given one only once for each name, and then returns the same result.
 * @param make must not return undefined
 */
export function once<Result>(make: (name: string) => Result): (name: string) => Result {
  const made = new Map<string, Result>();
  return (name) => {
    const result = made.get(name) ?? make(name);
    made.set(name, result);
    return result;
  };
}

/** Returns the members with their names in snake case, such as `failed_turns` for `failedTurns`. */
export const inSnakeCase = <Value = unknown>(members: object): Record<string, Value> =>
  renamed(members, /[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the members with other names: with the parts replaced that match the pattern. */
export const renamed = <Value = unknown>(
  members: object,
  pattern: RegExp,
  replace: (found: string) => string,
): Record<string, Value> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name.replace(pattern, replace), value]));

export interface PlatformServices {
  clock: Clock;
  /** Returns a number that is at least 0 and less than 1. */
  random: () => number;
  identifiers: Identifiers;
  log: Log;
  meter: Meter;
  idempotency: IdempotencyStore;
}
