import { limits } from '#contract/limits.ts';

/** The limits of a reply in every stage, by the names of their variables (runtime/environment/variables.ts). */
export const replyLimits = {
  /**
   * How long the lease of a chat's turn, or of a batch's slot, lasts without a renewal. A function renews the former
   * after each third of this time, and a worker the latter after each sixth. Requests of batches lease chats longer.
   */
  leaseSeconds: 30,
  /**
   * How long a reply in one JSON response may take. The response must leave before CloudFront's read timeout of 120 s;
   * the other 10 s are for the gateway, and for storing the reply.
   */
  plainReplySeconds: 110,
  /**
   * The maximum of characters of earlier messages that a model is given, unless its agent has `max_history_characters`:
   * about 15,000 tokens of English, of four characters each, and more tokens in other scripts.
   */
  historyCharacters: 60_000,
  /** The maximum of files of a message: as many as a person would read for one question. */
  attachedFiles: limits.attachedFilesDefault,
  /**
   * The maximum size of a reply's text. 1 MiB is about eight times the text of 32,000 tokens of English, and ends a
   * reply that repeats itself.
   */
  replyBytes: 1024 * 1024,
  /**
   * The maximum of model calls of a reply: of its agent, of the agents that it calls, and for the chat's title, with
   * all retries. They are enough for six agents that use all 8 calls of the default `max_steps`. Without a limit,
   * agents that call other agents in every round could make thousands of calls.
   */
  replyModelCalls: 50,
  /**
   * The maximum of tool uses of a reply: four in each of the seven rounds before the last call of an agent with the
   * default `max_steps`, and two more.
   */
  replyToolUses: 30,
  /**
   * The maximum of tools that a reply uses at once: as many pages as an agent compares. A page of 5 MB and its text may
   * take 15 MB of the function's memory. Tools also take connections, and up to 128 replies share the 1,024 file
   * descriptors of an environment.
   */
  replyToolsAtOnce: 4,
} as const;

/**
 * How long the reply to one request of a batch may take: less than the reply to a message (`replySeconds`), because a
 * worker has many requests.
 */
export const batchItemSeconds = 240;

/** How long a receiver of webhooks may take to respond. */
export const webhookTimeoutSeconds = 15;

/**
 * Waits between the attempts to deliver a webhook, each varied by up to a tenth. 5 s are for a short failure, 5 and 30
 * minutes for a deployment, and hours for failures that people must repair. All waits together are about 27.6 hours, so
 * that nobody has to work at night.
 */
export const webhookRetrySeconds = [5, 300, 1800, 7200, 18_000, 36_000, 36_000] as const;

/**
 * Returns the burst of requests that the gateway accepts for a route. Its ratio to the rate is that of AWS's quotas:
 * 5,000 to 10,000 a second.
 */
export const gatewayBurst = (settings: { readonly gatewayRequestsPerSecond: number }): number =>
  Math.ceil(settings.gatewayRequestsPerSecond / 2);
