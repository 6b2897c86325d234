import type { AgentDefinition } from '#contract/agent.ts';
import type { ReplyBudget } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type AgentModels, type ModelSettings, type NamedModel, namedModel } from './request-model.ts';

/** A model that others follow has this many attempts. The last one has the usual number. */
const attemptsBeforeFallback = 2;

/**
 * The milliseconds for which tasks of a process avoid a model that has failed, if its provider does not ask for longer.
 * If no model is ready, one of them is called nevertheless.
 */
const shortestPause = 10_000;

/**
 * When models that have failed may be called again, by their names. It has at most the models of all agents with
 * fallbacks.
 */
const pausedUntil = new Map<string, number>();

/** The model of an agent and its fallback models, for one task. */
export function candidatesOf(
  settings: ModelSettings,
  { llm_model, meta: { fallback_models = [] } }: AgentDefinition,
  budget: ReplyBudget,
): AgentModels {
  const waiting = [llm_model, ...fallback_models];
  const now = (): number => settings.clock.now().getTime();
  const isReady = (name: string): boolean => (pausedUntil.get(name) ?? 0) <= now();
  const take = (name: string): NamedModel => {
    waiting.splice(0, waiting.indexOf(name) + 1);
    return namedModel(settings, name, budget, waiting.length === 0 ? undefined : attemptsBeforeFallback);
  };
  /** Pauses the current model, and makes the next one current. Throws the error if there is none, or no call is left. */
  const fallBack = (error: unknown): void => {
    if (!isPassing(error)) throw error;
    const { name } = models.current;
    pausedUntil.set(name, now() + Math.max(error.retryAfter ?? 0, shortestPause));
    const next = waiting.find(isReady) ?? waiting.at(-1);
    if (next === undefined || !budget.takeModelCall()) throw error;
    settings.onRetry(name, 'fallback');
    models.current = take(next);
  };
  const models: AgentModels = {
    current: take(waiting.find(isReady) ?? llm_model),
    async call(mayFallBack, open) {
      for (;;)
        try {
          return await open();
        } catch (error) {
          if (!mayFallBack) throw error;
          fallBack(error);
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
