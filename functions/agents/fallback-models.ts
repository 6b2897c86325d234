import type { AgentDefinition } from '#contract/agent.ts';
import type { ReplyBudget } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type AgentModels, type ModelSettings, namedModel } from './request-model.ts';

/** A model that others follow has this many attempts. The last one has the usual number. */
const attemptsBeforeFallback = 2;

/**
 * Milliseconds for which new tasks of a process avoid a model that has failed, if its provider does not ask for longer.
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
  const names = [llm_model, ...fallback_models];
  const candidate = (name: string, isLast: boolean) =>
    namedModel(settings, name, budget, isLast ? undefined : attemptsBeforeFallback);
  const now = (): number => settings.clock.now().getTime();
  const isReady = (name: string): boolean => (pausedUntil.get(name) ?? 0) <= now();
  const first = names.find(isReady) ?? llm_model;
  const waiting = names.slice(names.indexOf(first) + 1);
  /** Pauses the current model, and makes the next one current. @returns false if there is none, or no call is left */
  const fallBack = ({ retryAfter = 0 }: ModelFailure): boolean => {
    const { name } = models.current;
    pausedUntil.set(name, now() + Math.max(retryAfter, shortestPause));
    const next = waiting.find(isReady) ?? waiting.at(-1);
    if (next === undefined || !budget.takeModelCall()) return false;
    settings.onRetry(name, 'fallback');
    waiting.splice(0, waiting.indexOf(next) + 1);
    models.current = candidate(next, waiting.length === 0);
    return true;
  };
  const models = {
    current: candidate(first, waiting.length === 0),
    async call<Result>(mayFallBack: boolean, open: () => Promise<Result>): Promise<Result> {
      for (;;)
        try {
          return await open();
        } catch (error) {
          if (!(mayFallBack && isPassing(error) && fallBack(error))) throw error;
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
