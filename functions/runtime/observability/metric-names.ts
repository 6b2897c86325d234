/**
 * A metric that functions write to their logs (CloudWatch's embedded metric format), for dashboards and alarms.
 *
 * Its namespace is the stack's name (`variables.metricsNamespace`). CloudWatch stores a metric once for each of its
 * dimension sets: a metric with `[['route'], ['error_code']]` can be queried by route or by code, but not by both. A
 * dimension must have few values, because AWS charges for each combination as a metric. Properties with many values are
 * fields of the same log line, such as `workspace_id` and `request_id`, for Logs Insights.
 */
export interface Metric {
  /** The name in CloudWatch. */
  name: string;
  /**
   * The name before this release. The metric is emitted under both names for one release, so that operators can change
   * their own alarms and dashboards.
   */
  formerName?: string;
  unit: 'Count' | 'Milliseconds' | 'Seconds' | 'Bytes';
  dimensions: readonly (readonly MetricDimension[])[];
}

export type MetricDimension =
  /** The name of the route: a key of `contract/routes.ts`. */
  | 'route'
  /** `error_code` of the envelope, in digits. */
  | 'error_code'
  /** A model as `llm_model` of an agent names it, such as `PROVIDER:MODEL`. */
  | 'model'
  /**
   * Why a model failed: `throttled`, `unavailable`, `tooLong`, `refused`, `failed`, `stalled` (idle timeout) or `slow`
   * (deadline). For a retry also `invalid-reply` (the text is not in the form of the reply) or `fallback` (another
   * model is called).
   * Why the system of a remote tool failed: `timeout`, `unreachable`, `forbidden` (an address or a secret over
   * plain HTTP), `refused`, `auth`, `protocol`, `too-large` or `changed` (it has no such tool).
   */
  | 'failure'
  /** Why an event of a model was skipped: `empty`, `unparsable`, `without-choices` or `after-end`. */
  | 'kind'
  /** `type` of a reasoning step. */
  | 'tool'
  /** Final status of a batch: `completed`, `failed`, `cancelled`. */
  | 'status'
  /**
   * Outcome of a webhook delivery attempt: `delivered`, `refused` (a status other than 2xx and 410), `unreachable` (no
   * response, or no request because of a rule), `gone` (410).
   */
  | 'outcome'
  /**
   * Why the authorizer, or the web function for uploads, rejected a key: `unknown`, `revoked`, `expired`, `disabled`
   * (the workspace is disabled or deleted).
   */
  | 'reason';

const one = <Dimension extends MetricDimension>(dimension: Dimension) => [[dimension]] as const;

export const metrics = {
  /** Requests that their route has handled, successfully or not. */
  requests: { name: 'Requests', unit: 'Count', dimensions: one('route') },
  /** Handled requests with an error response, or whose response broke off. */
  errors: { name: 'Errors', unit: 'Count', dimensions: [['route'], ['error_code']] },
  /**
   * Responses with a 5xx status to replies for whose failure the model counts as the cause (`isFailedByModel`). A
   * failed reply that is sent again for an idempotency key counts too.
   */
  modelErrorResponses: { name: 'ModelErrorResponses', unit: 'Count', dimensions: [[]] },
  /** Streamed replies that failed because of the service. The status of their responses is 200. */
  streamedFaults: { name: 'StreamedFaults', unit: 'Count', dimensions: [[]] },
  /**
   * Requests whose key the authorizer or the web function for uploads rejected. Neither rejections from the gateway's
   * cache nor requests without a key are counted.
   */
  rejectedKeys: { name: 'RejectedKeys', formerName: 'RefusedKeys', unit: 'Count', dimensions: one('reason') },
  /**
   * Requests that reached a web function directly, without the distribution's secret or without a caller that the
   * authorizer has signed. The web function rejects them and does not read their bodies.
   */
  requestsWithoutOriginSecret: { name: 'Strangers', unit: 'Count', dimensions: [[]] },

  /**
   * The time from the start of the work of `send-message` or `complete-chat` to the first delta of the reply. The cold
   * start and the authorizer are not included. A reply to `send-message` with a form or a schema has no value, because
   * its text is sent as a whole.
   */
  timeToFirstDelta: { name: 'TimeToFirstDelta', unit: 'Milliseconds', dimensions: one('route') },
  /**
   * The time from the start of the work of `send-message` or `complete-chat` until the reply has ended, and is stored
   * if it belongs to a chat.
   */
  replyTime: { name: 'ReplyTime', unit: 'Milliseconds', dimensions: one('route') },
  /** Turns and completions whose reply failed. */
  failedReplies: { name: 'FailedReplies', unit: 'Count', dimensions: one('route') },
  /** The size of each stored file. Each file is one value, so the sample count is the number of files. */
  uploadedBytes: { name: 'UploadedBytes', unit: 'Bytes', dimensions: one('route') },

  /**
   * Model calls, those of titles included, without those that failed before their first output. A call that was aborted
   * counts, without tokens.
   */
  modelCalls: { name: 'ModelCalls', unit: 'Count', dimensions: one('model') },
  promptTokens: { name: 'PromptTokens', unit: 'Count', dimensions: one('model') },
  completionTokens: { name: 'CompletionTokens', unit: 'Count', dimensions: one('model') },
  /** The prompt tokens that the provider has read from its cache. */
  cachedTokens: { name: 'CachedTokens', unit: 'Count', dimensions: one('model') },
  /**
   * Further model calls after a call that failed before its first output, or whose text was not in the form of the
   * reply.
   */
  modelRetries: { name: 'ModelRetries', unit: 'Count', dimensions: [['model'], ['failure']] },
  /**
   * Replies that ended with a failure of the model, without those of agent tests. Replies in batches count too,
   * although a later attempt may succeed.
   */
  modelFailures: { name: 'ModelFailures', unit: 'Count', dimensions: [['model'], ['failure']] },

  /**
   * Events in responses of models that the service did not understand and skipped. The reply does not fail because of
   * them.
   */
  modelEventsSkipped: { name: 'ModelEventsSkipped', unit: 'Count', dimensions: [['model'], ['kind']] },

  /** Reasoning steps of replies. */
  steps: { name: 'Steps', unit: 'Count', dimensions: one('tool') },
  /** Reasoning steps without success. Those that did not end are included. */
  failedSteps: { name: 'FailedSteps', unit: 'Count', dimensions: one('tool') },

  /** The time of each use of a remote tool, even if it failed. */
  toolTime: { name: 'ToolTime', unit: 'Milliseconds', dimensions: one('tool') },
  /**
   * Uses of remote tools without a usable response of the tool's system, for the reasons of the dimension `failure`.
   * Uses that the system has carried out and reported as unsuccessful do not count.
   */
  toolFailures: { name: 'ToolFailures', unit: 'Count', dimensions: [['tool'], ['failure']] },

  /** Batch requests that a worker ended with a reply. */
  batchRequestsDone: { name: 'BatchRequestsDone', unit: 'Count', dimensions: [[]] },
  /** Batch requests that a worker ended with a failure. */
  batchRequestsFailed: { name: 'BatchRequestsFailed', unit: 'Count', dimensions: [[]] },
  /** Batch requests whose retry was scheduled, for example because the model was busy. */
  batchRequestsDelayed: {
    name: 'BatchRequestsDelayed',
    formerName: 'BatchRequestsPutOff',
    unit: 'Count',
    dimensions: [[]],
  },
  /** The time from the creation of a batch to its end: one value for each ended batch. */
  batchAge: { name: 'BatchAge', unit: 'Seconds', dimensions: one('status') },

  /**
   * How long the oldest request that no worker has taken has waited since the creation of its batch, as a run of the
   * reconciler finds it; 0 if no request waits. Stopped batches do not count.
   */
  oldestRequestWait: { name: 'OldestRequestWait', unit: 'Seconds', dimensions: [[]] },
  /** Batches that a run of the reconciler found open 15 minutes after their `expires_at`. */
  overdueBatches: { name: 'OverdueBatches', unit: 'Count', dimensions: [[]] },
  /** Deleted chats and erased persons whose purge a run of the reconciler found not ended after an hour. */
  overduePurges: { name: 'OverduePurges', unit: 'Count', dimensions: [[]] },

  /** Chats that were deleted because they were unused for longer than their workspace retains them. */
  unusedChatsDeleted: { name: 'UnusedChatsDeleted', unit: 'Count', dimensions: [[]] },

  /** Webhooks that were given up after their last delivery attempt. */
  webhooksExhausted: {
    name: 'WebhooksExhausted',
    formerName: 'WebhooksGivenUp',
    unit: 'Count',
    dimensions: [[]],
  },
  webhookAttempts: { name: 'WebhookAttempts', unit: 'Count', dimensions: one('outcome') },

  /**
   * Uses whose write failed after all retries. `agentctl usage` lacks them, unless the same process later writes usage
   * of the same key, agent and day.
   */
  lostUsage: { name: 'LostUsage', unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof metrics;

/**
 * Powertools adds this dimension to every dimension set, the empty one included: `[['route']]` above is
 * `{ service, route }` in CloudWatch.
 */
export const serviceDimension = { service: 'agent-service' } as const;
