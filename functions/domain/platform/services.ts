import type { ReasoningStep } from '#contract/message.ts';
import type { ModelFailureKind } from './failures.ts';
import type { IdempotencyStore } from './idempotency.ts';

export type Cancel = () => void;

export interface Clock {
  now(): Date;
  after(milliseconds: number, call: () => void): Cancel;
  every(milliseconds: number, call: () => void): Cancel;
}

/** Those of `uuid` increase with time. */
export interface Identifiers {
  uuid(): string;
  workspaceId(): string;
  /** `ak_` and 32 random bytes in base 62. */
  apiKey(): string;
  apiKeyId(): string;
}

/** Callers must not pass message texts, API keys or secrets as fields. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** `stalled`: the idle timeout has aborted the reply. `slow`: its deadline has. Values of a metric's dimension. */
export type FailureOfModel = ModelFailureKind | 'stalled' | 'slow';

/** `fallback`: another model is called. Values of a metric's dimension. */
export type RetryReason = ModelFailureKind | 'invalid-reply' | 'fallback';

export interface Meter {
  replied(reply: { calls: readonly CountedCall[]; reasoningSteps: readonly ReasoningStep[] }): void;
  modelFailed(model: string, failure: FailureOfModel): void;
  modelRetried(model: string, reason: RetryReason): void;
  requestsProcessed(requests: { done: number; failed: number; delayed: number }): void;
  /** `age`: milliseconds since the creation. */
  batchEnded(status: 'completed' | 'failed' | 'cancelled', age: number): void;
  webhookCalled(outcome: 'delivered' | 'refused' | 'unreachable' | 'gone'): void;
  keyRejected(reason: 'unknown' | 'revoked' | 'expired' | 'disabled'): void;
  usageNotCounted(): void;
}

/**
 * `model` may end with `#` and a service tier. `callType` is `chat`, `title`, or the type of the reasoning step that
 * made the call. `promptTokens` contains the tokens that were read from the provider's cache, and those that were
 * written to it.
 */
export type CountedCall = [
  model: string,
  callType: string,
  promptTokens: number,
  completionTokens: number,
  cachedTokens?: number,
  writtenTokens?: number,
];

/** A count that only `other` has is left out. */
export const sumOf = <Counts extends { [Name in keyof Counts]: number }>(
  one: Counts,
  other: { readonly [Name in keyof Counts]?: number | undefined },
): Counts =>
  Object.fromEntries(
    Object.entries<number>(one).map(([name, count]) => [name, count + (other[name as keyof Counts] ?? 0)]),
  ) as Counts;

export const isExpired = (expiresAt: string | null, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;

export const groupsOf = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

/** @param make called again for a name for which it has returned null or undefined */
export function once<Result>(make: (name: string) => Result): (name: string) => Result {
  const made = new Map<string, Result>();
  return (name) => {
    const result = made.get(name) ?? make(name);
    made.set(name, result);
    return result;
  };
}

export const inSnakeCase = <Value = unknown>(members: object): Record<string, Value> =>
  renamed(members, /[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const renamed = <Value = unknown>(
  members: object,
  pattern: RegExp,
  replace: (found: string) => string,
): Record<string, Value> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name.replace(pattern, replace), value]));

export interface PlatformServices {
  clock: Clock;
  random: () => number;
  identifiers: Identifiers;
  log: Log;
  meter: Meter;
  idempotency: IdempotencyStore;
}
