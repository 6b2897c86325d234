import { limits } from '#contract/limits.ts';

export const replyLimits = {
  /** How long the lease of a batch's slot, or of a chat's turn outside batches, lasts without a renewal. */
  leaseSeconds: 30,
  /** For a reply as JSON: 10 s less than CloudFront's read timeout. */
  plainReplySeconds: 110,
  /** Characters of earlier messages, for an agent without `max_history_characters`: about 15,000 tokens of English. */
  historyCharacters: 60_000,
  attachedFiles: limits.attachedFilesDefault,
  /** Text of about 260,000 tokens of English. This limit ends a reply that repeats itself. */
  replyBytes: 1024 * 1024,
  /**
   * Includes the model calls of called agents: without a limit, these could make thousands. 50 are enough, without
   * retries and repairs, for six agents that use all 8 calls of the default `max_steps`.
   */
  replyModelCalls: 50,
  /** Four in each of the seven rounds before the last call of an agent with the default `max_steps`, and two more. */
  replyToolUses: 30,
  /**
   * A page of 5 MB and its text may take 15 MB of memory. Up to 128 replies share the 1,024 file descriptors of an
   * environment.
   */
  replyToolsAtOnce: 4,
} as const;

/** Less than `replySeconds`, to leave a worker time for waits and outages. */
export const batchItemSeconds = 240;

export const webhookTimeoutSeconds = 15;

/**
 * 5 s are for a short failure, 5 and 30 minutes for a deployment, and hours for what people must repair: together about
 * 27.6 hours, so that nobody has to work at night.
 */
export const webhookRetrySeconds = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const;

/** Half the rate, as in AWS's quotas: bursts of 5,000 at 10,000 a second. */
export const gatewayBurst = (settings: { readonly gatewayRequestsPerSecond: number }): number =>
  Math.ceil(settings.gatewayRequestsPerSecond / 2);
