import type { CountedCall } from '#domain/platform/services.ts';

export interface KeyOwner {
  workspaceId: string;
  apiKeyId: string;
}

/** Stands for the id of the key in usage and rate limits of operators' tests of agents, which have no key. */
export const operatorsKeyId = 'operators';

/** The key and the agent for which usage is counted. */
interface UsageOwner extends KeyOwner {
  /** Null for usage without an agent, such as uploads. */
  agentId: string | null;
}

export const noCounts = {
  /** Turns in chats and completions that have ended, successful or failed. */
  turns: 0,
  failedTurns: 0,
  /** Requests of batches that a worker has ended, successful or failed. */
  batchRequests: 0,
  failedBatchRequests: 0,
  uploads: 0,
  uploadedBytes: 0,
  /** Tests of agents by operators, successful or failed. */
  tests: 0,
  failedTests: 0,
};

export type UsageCounts = typeof noCounts;

/** The usage that one write adds. The calls may be those of called agents, of titles and of failed attempts too. */
export interface Use extends UsageOwner {
  counts: Partial<UsageCounts>;
  calls: readonly CountedCall[];
}

export const noModelUsage = {
  calls: 0,
  promptTokens: 0,
  completionTokens: 0,
  /** The part of `promptTokens` that was read from the provider's cache. */
  cachedTokens: 0,
  /** The part of `promptTokens` that was written to the provider's cache. */
  writtenTokens: 0,
};

export type ModelUsage = typeof noModelUsage;

/** A part of the usage of one key and agent on a day. */
export interface DayOfUsage extends UsageOwner {
  /** UTC day, such as `2027-01-31`. */
  day: string;
  counts: UsageCounts;
  models: Record<string, ModelUsage>;
}

/** The UTC day, such as `2027-01-31`. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

export interface UsageStore {
  /**
   * Adds to a day's usage. A retry after a lost response does not count twice. Rejects if the write fails; a later
   * write of the process may count the use too.
   */
  add(use: Use, day: string): Promise<void>;
  /**
   * A workspace's usage by day, key and agent, in parts that are to be added up. Both days are included, such as
   * `2027-01-31`.
   */
  between(workspaceId: string, from: string, to: string): AsyncIterable<DayOfUsage[]>;
}
