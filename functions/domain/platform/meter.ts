import type { ReasoningStep } from '#contract/message.ts';
import type { ModelFailureKind } from './model-failure.ts';
import type { CountedCall } from './model-usage.ts';

/** `stalled`: it was silent for too long; `slow`: it took too long in all. */
export type FailureOfModel = ModelFailureKind | 'stalled' | 'slow';

/** Figures for operators. Kept in memory until the end of the invocation, so telling one costs nothing to speak of. */
export interface Meter {
  /** A reply has ended, whole or not: what it used. */
  replied(reply: { calls: readonly CountedCall[]; reasoningSteps: readonly ReasoningStep[] }): void;
  /** A reply was ended by its model. */
  modelFailed(model: string, failure: FailureOfModel): void;
  /** A model is asked again. */
  modelRetried(model: string, failure: ModelFailureKind): void;
  /** A worker is through with requests of batches. */
  requestsWorked(requests: { done: number; failed: number; delayed: number }): void;
  /** A batch has ended; milliseconds from its creation on. */
  batchEnded(status: 'completed' | 'failed' | 'cancelled', age: number): void;
  webhookCalled(outcome: 'delivered' | 'refused' | 'unreachable' | 'gone'): void;
  keyRejected(reason: 'unknown' | 'revoked' | 'expired' | 'disabled'): void;
  usageNotCounted(): void;
}
