import type { CountedCall } from '#domain/platform/services.ts';

export interface KeyOwner {
  workspaceId: string;
  apiKeyId: string;
}

/** For operators' tests of agents, which have no key. */
export const operatorsKeyId = 'operators';

interface UsageOwner extends KeyOwner {
  /** Null for usage without an agent, such as uploads. */
  agentId: string | null;
}

export const noCounts = {
  /**
   * Replies to messages outside batches, and completions, also failed ones. Those whose function was killed, or failed
   * to store the user's message, may be missing.
   */
  turns: 0,
  failedTurns: 0,
  /** Only those that a worker has ended. */
  batchRequests: 0,
  failedBatchRequests: 0,
  uploads: 0,
  uploadedBytes: 0,
  tests: 0,
  failedTests: 0,
};

export type UsageCounts = typeof noCounts;

/** The calls may be those of called agents, of titles and of failed attempts too. */
export interface Use extends UsageOwner {
  counts: Partial<UsageCounts>;
  calls: readonly CountedCall[];
}

export const noModelUsage = {
  calls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
};

export type ModelUsage = typeof noModelUsage;

/** A part of the usage of one key and agent on a day. */
export interface DayOfUsage extends UsageOwner {
  day: string;
  counts: UsageCounts;
  models: Record<string, ModelUsage>;
}

/** In UTC, such as `2027-01-31`. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

export interface UsageStore {
  /** Do not repeat a call that was rejected: a later write may still count the use. Retries within a call are safe. */
  add(use: Use, day: string): Promise<void>;
  /** The parts are to be added up. Both days are included. */
  between(workspaceId: string, from: string, to: string): AsyncIterable<DayOfUsage[]>;
}
