import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { ReplyBudget } from '#domain/chats/agent-runtime.ts';
import type { Clock, RetryReason } from '#domain/platform/services.ts';
import { findProvider, type ModelProvider } from './models/model-provider.ts';
import { type RejectedCall, type RetryingModel, retryingModel, timingOf } from './retrying-model.ts';

export interface ModelSettings {
  providers: Record<string, ModelProvider>;
  clock: Pick<Clock, 'now' | 'after'>;
  /** Returns a number from 0 to less than 1, for the jitter of waits. */
  random: () => number;
  /**
   * Asked before each call of a model: also for retries, fallback models, repairs, titles and called agents. If it
   * rejects, the call is not made and fails with that error.
   */
  allow: (model: string, call: LanguageModelV4CallOptions) => Promise<void>;
  /** Called before each retry of a model call. */
  onRetry: (model: string, reason: RetryReason) => void;
  /** Called for each error response of a provider. Its body may quote the prompt. */
  onRejected: (call: RejectedCall) => void;
}

/** A model with its name, as an agent's `llm_model` has it. */
export interface NamedModel {
  name: string;
  model: RetryingModel;
}

/** The models of an agent, for one task. */
export interface AgentModels {
  /** The model of the next call. */
  current: NamedModel;
  /**
   * Calls the current model. If it is busy or unavailable before its first output, calls the next one, if there is one.
   * @param mayFallBack whether another model may be called
   * @throws the error of the last call
   */
  call<Result>(mayFallBack: boolean, open: () => Promise<Result>): Promise<Result>;
}

/**
 * A model with retries. Each retry counts in the budget of the reply.
 * @param attempts by default the usual number
 * @throws Error if its provider is unknown
 */
export function namedModel(
  settings: ModelSettings,
  name: string,
  budget: ReplyBudget,
  attempts?: number,
): NamedModel {
  const { provider, name: ofProvider } = findProvider(settings.providers, name);
  const model = retryingModel(provider.model(ofProvider), {
    ...(attempts !== undefined && { attempts }),
    ...timingOf(settings.clock, settings.random),
    allow: (call) => settings.allow(name, call),
    mayRetry: () => budget.takeModelCall(),
    onRetry: (failure) => settings.onRetry(name, failure),
    onRejected: settings.onRejected,
  });
  return { name, model };
}
