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
  random: () => number;
  /** If it rejects, the call is not made. */
  allow: (model: string, call: LanguageModelV4CallOptions) => Promise<void>;
  onRetry: (model: string, reason: RetryReason) => void;
  /** The body of the response may quote the prompt. */
  onRejected: (call: RejectedCall) => void;
}

/**
 * @param name as an agent's `llm_model` has it
 * @throws Error as `findProvider` does
 */
export function namedModel(settings: ModelSettings, name: string, budget: ReplyBudget, attempts?: number) {
  const { provider, name: ofProvider } = findProvider(settings.providers, name);
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

/** The last model has the usual number of attempts. */
const attemptsBeforeFallback = 2;

/**
 * In milliseconds: how long agents prefer their other models to a throttled or unavailable one, unless its provider
 * asks for longer.
 */
const shortestPause = 10_000;

const pausedUntil = new Map<string, number>();

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
    current: take(waiting.find(isReady) ?? llm_model),
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

/** A wrong key or an unknown model is not passing: an operator must see it. */
const isPassing = (error: unknown): error is ModelFailure =>
  error instanceof ModelFailure && (error.kind === 'throttled' || error.kind === 'unavailable');
