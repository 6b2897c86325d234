import type { CountedCall } from '#domain/platform/services.ts';

export interface KeyOwner {
  workspaceId: string;
  apiKeyId: string;
}

/** Stands in for the API key in operators' tests of agents. */
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

/**
 * Of one token, in whole 10⁻¹² dollars. Prices are given in dollars per million tokens with at most six decimals, so
 * they fit exactly.
 */
export interface Price {
  input: number;
  cached: number;
  written: number;
  output: number;
}

/** Prices by their first UTC day, such as `2027-01-31`. A price ends when the next one starts. */
export type ModelPrices = Readonly<Record<string, Price>>;

/** By the name of the model as usage counts it, such as `openai:gpt-5-mini#flex`. */
export type Prices = Readonly<Record<string, ModelPrices>>;

export interface PriceStore {
  all(): Promise<Prices>;
  /** `from` is a UTC day, such as `2027-01-31`. Other prices that an operator sets meanwhile are kept. */
  set(model: string, from: string, price: Price): Promise<void>;
}

/**
 * Reads dollars per million tokens, such as `0.3125`.
 * @returns 10⁻¹² dollars per token; undefined for anything but one to six digits, which a point and one to six decimals
 * may follow
 */
export function parsePrice(text: string): number | undefined {
  const [, dollars, decimals = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  return dollars === undefined ? undefined : Number(dollars + decimals.padEnd(6, '0'));
}

export const inDollars = ({ input, cached, written, output }: Price): Record<keyof Price, string> => ({
  ...{ input: formatPrice(input), cached: formatPrice(cached) },
  ...{ written: formatPrice(written), output: formatPrice(output) },
});

const formatPrice = (price: number): string => String(price / 1_000_000);

/** @returns 10⁻¹² dollars; undefined if the model has no price on that day */
export function costOf(prices: ModelPrices | undefined, day: string, usage: ModelUsage): bigint | undefined {
  const started = Object.entries(prices ?? {}).filter(([first]) => first <= day);
  const [, price] = started.toSorted(([one], [other]) => one.localeCompare(other)).at(-1) ?? [];
  if (price === undefined) return undefined;
  const { promptTokens, cachedTokens, writtenTokens, completionTokens } = usage;
  const ofPrompt = BigInt(promptTokens - cachedTokens - writtenTokens) * BigInt(price.input);
  const ofCache = BigInt(cachedTokens) * BigInt(price.cached) + BigInt(writtenTokens) * BigInt(price.written);
  return ofPrompt + ofCache + BigInt(completionTokens) * BigInt(price.output);
}

/**
 * @param cost in 10⁻¹² dollars
 * @param decimals 1 to 12; the rest is rounded, a half upwards
 */
export function formatCost(cost: bigint, decimals = 12): string {
  const unit = 10n ** BigInt(12 - decimals);
  const digits = String((cost + unit / 2n) / unit).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
