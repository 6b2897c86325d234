import type { ReasoningStep } from '#contract/message.ts';
import type { ModelFailureKind } from './model-failure.ts';
import type { CountedCall } from './model-usage.ts';

/** `stalled`: the idle timeout aborted the reply. `slow`: the deadline aborted it. Values of a metric's dimension. */
export type FailureOfModel = ModelFailureKind | 'stalled' | 'slow';

/** Metrics for operators. They are buffered in memory until the invocation ends, so that recording one is cheap. */
export interface Meter {
  /** A reply has ended, complete or not. Records what it used. */
  replied(reply: { calls: readonly CountedCall[]; reasoningSteps: readonly ReasoningStep[] }): void;
  /** The model ended a reply with a failure. */
  modelFailed(model: string, failure: FailureOfModel): void;
  /** A call of a model is retried. */
  modelRetried(model: string, failure: ModelFailureKind): void;
  /** A worker has processed requests of batches. */
  requestsProcessed(requests: { done: number; failed: number; delayed: number }): void;
  /** A batch has ended. `age`: milliseconds since its creation. */
  batchEnded(status: 'completed' | 'failed' | 'cancelled', age: number): void;
  webhookCalled(outcome: 'delivered' | 'refused' | 'unreachable' | 'gone'): void;
  keyRejected(reason: 'unknown' | 'revoked' | 'expired' | 'disabled'): void;
  usageNotCounted(): void;
}
