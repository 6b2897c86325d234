import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { AgentDefinition } from '#contract/agent.ts';
import type { ReplyBudget } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import type { Clock, RetryReason } from '#domain/platform/services.ts';
import { findProvider, type ModelProvider } from './models/model-provider.ts';
import { type RejectedCall, retryingModel, timingOf } from './retrying-model.ts';

export interface ModelSettings {
  providers: Record<string, ModelProvider>;
  clock: Pick<Clock, 'now' | 'after'>;
  /** Returns a number from 0 to less than 1, for the jitter of waits. */
  random: () => number;
  /**
   * Asked before each call of a model: also for retries, fallback models, repairs, titles and called agents. If it
   * rejects, the call is not made.
   */
  allow: (model: string, call: LanguageModelV4CallOptions) => Promise<void>;
  /** Called before each further call for the same response: a retry, a fallback model, a shorter prompt, a repair. */
  onRetry: (model: string, reason: RetryReason) => void;
  /** Called after a call that a provider has rejected. The body of its response may quote the prompt. */
  onRejected: (call: RejectedCall) => void;
}

/**
 * A model with retries, which count in the budget of the reply.
 * @param name as an agent's `llm_model` has it
 * @param attempts by default the usual number
 * @throws Error as `findProvider` does
 */
export function namedModel(settings: ModelSettings, name: string, budget: ReplyBudget, attempts?: number) {
  const { provider, name: ofProvider } = findProvider(settings.providers, name);
  /** Takes a call from the budget for a retry, and reports the retry. Returns false if no call is left. */
  const mayRetry = (reason: RetryReason): boolean => {
    const isLeft = budget.takeModelCall();
    if (isLeft) settings.onRetry(name, reason);
    return isLeft;
  };
  const model = retryingModel(provider.model(ofProvider), {
    ...timingOf(settings.clock),
    ...{ attempts, mayRetry, random: settings.random, onRejected: settings.onRejected },
    allow: (call) => settings.allow(name, call),
  });
  return { name, model, mayRetry };
}

/** The attempts at a model, while others may follow. The last one has the usual number. */
const attemptsBeforeFallback = 2;

/**
 * The milliseconds for which the tasks of a process avoid a model that was busy or unavailable, unless its provider asks
 * for longer. If all models of an agent are paused, one of them is called nevertheless.
 */
const shortestPause = 10_000;

/**
 * When the pauses of models end, in milliseconds since 1970, by the models' names. Only agents with fallback models
 * pause their models, and only they look here.
 */
const pausedUntil = new Map<string, number>();

/** The model of an agent and its fallback models, for one task. */
export function modelsOf(
  settings: ModelSettings,
  { llm_model, meta: { fallback_models } }: AgentDefinition,
  budget: ReplyBudget,
) {
  const waiting = [llm_model, ...(fallback_models ?? [])];
  const now = (): number => settings.clock.now().getTime();
  const isReady = (name: string): boolean => (pausedUntil.get(name) ?? 0) <= now();
  const take = (name: string) => {
    waiting.splice(0, waiting.indexOf(name) + 1);
    return namedModel(settings, name, budget, waiting.length === 0 ? undefined : attemptsBeforeFallback);
  };
  const models = {
    /** The model of the next call. */
    current: take(waiting.find(isReady) ?? llm_model),
    /**
     * Calls the current model. If it is busy or unavailable before its first output, pauses it, and makes the next model
     * current and calls that, if there is one and a call is left.
     * @param mayFallBack whether another model may be called
     * @param open calls `current`
     * @throws the error of the last call
     */
    async call<Result>(mayFallBack: boolean, open: () => Promise<Result>): Promise<Result> {
      try {
        return await open();
      } catch (error) {
        if (!(fallback_models && mayFallBack && isPassing(error))) throw error;
        const { name, mayRetry } = models.current;
        pausedUntil.set(name, now() + Math.max(error.retryAfter ?? 0, shortestPause));
        const next = waiting.find(isReady) ?? waiting.at(-1);
        if (next === undefined || !mayRetry('fallback')) throw error;
        models.current = take(next);
        return models.call(mayFallBack, open);
      }
    },
  };
  return models;
}

/**
 * Whether the failure may be over soon, so that another model is called meanwhile. A wrong key or an unknown model is
 * no such failure: an operator must see it.
 */
const isPassing = (error: unknown): error is ModelFailure =>
  error instanceof ModelFailure && (error.kind === 'throttled' || error.kind === 'unavailable');
