import type { CountedCall } from '#domain/platform/model-usage.ts';

export interface KeyOwner {
  workspaceId: string;
  apiKeyId: string;
}

/** Whose usage: what one key has used of one agent. */
export interface UsageOwner extends KeyOwner {
  /** Null for what belongs to no agent, such as uploads. */
  agentId: string | null;
}

export interface UsageCounts {
  /** Turns in chats that have ended, well or not. */
  turns: number;
  failedTurns: number;
  /** Requests of batches that a worker has ended, well or not. */
  batchRequests: number;
  failedBatchRequests: number;
  uploads: number;
  uploadedBytes: number;
}

/** What is added at once. Calls are those of all agents that took part, and of tries that came to nothing. */
export interface Use extends UsageOwner {
  counts: Partial<UsageCounts>;
  calls: readonly CountedCall[];
}

export interface ModelUsage {
  calls: number;
  promptTokens: number;
  completionTokens: number;
}

/** What was used on a day, in UTC: `2027-01-31`. */
export interface DayOfUsage extends UsageOwner {
  day: string;
  counts: UsageCounts;
  models: Record<string, ModelUsage>;
}

export const noCounts: UsageCounts = {
  turns: 0,
  failedTurns: 0,
  batchRequests: 0,
  failedBatchRequests: 0,
  uploads: 0,
  uploadedBytes: 0,
};

export const noModelUsage: ModelUsage = { calls: 0, promptTokens: 0, completionTokens: 0 };

/** The day of a moment, in UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** What calls have used of each model. */
export function usageByModel(calls: readonly CountedCall[]): Record<string, ModelUsage> {
  const models: Record<string, ModelUsage> = {};
  for (const [model, , promptTokens, completionTokens] of calls)
    models[model] = sumOfModelUsage(models[model] ?? noModelUsage, {
      calls: 1,
      promptTokens,
      completionTokens,
    });
  return models;
}

export const sumOfModelUsage = (one: ModelUsage, other: ModelUsage): ModelUsage => ({
  calls: one.calls + other.calls,
  promptTokens: one.promptTokens + other.promptTokens,
  completionTokens: one.completionTokens + other.completionTokens,
});

export const sumOfCounts = (one: UsageCounts, other: UsageCounts): UsageCounts => ({
  turns: one.turns + other.turns,
  failedTurns: one.failedTurns + other.failedTurns,
  batchRequests: one.batchRequests + other.batchRequests,
  failedBatchRequests: one.failedBatchRequests + other.failedBatchRequests,
  uploads: one.uploads + other.uploads,
  uploadedBytes: one.uploadedBytes + other.uploadedBytes,
});
