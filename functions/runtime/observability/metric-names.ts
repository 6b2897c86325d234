/**
 * CloudWatch stores a metric once for each of its dimension sets. A dimension must have few values, because AWS charges
 * for each combination as a metric.
 */
export interface Metric {
  name: string;
  /** The metric also has this name for one release, so that operators can change their alarms and dashboards. */
  formerName?: string;
  unit: 'Count' | 'Milliseconds' | 'Seconds' | 'Bytes';
  dimensions: readonly (readonly MetricDimension[])[];
}

export type MetricDimension =
  | 'route'
  | 'error_code'
  | 'model'
  /** Why a model has failed or was retried, or why a use of a remote tool has failed. */
  | 'failure'
  | 'kind'
  | 'tool'
  | 'status'
  /** `gone` is the status 410. */
  | 'outcome'
  /** `disabled`: the workspace is disabled or deleted. */
  | 'reason';

const one = <Dimension extends MetricDimension>(dimension: Dimension) => [[dimension]] as const;

export const metrics = {
  requests: { name: 'Requests', unit: 'Count', dimensions: one('route') },
  /** An error that cuts off a response counts too. */
  errors: { name: 'Errors', unit: 'Count', dimensions: [['route'], ['error_code']] },
  /** 5xx responses for replies whose failure counts as the model's. */
  modelErrorResponses: { name: 'ModelErrorResponses', unit: 'Count', dimensions: [[]] },
  /** Failed replies in open streams whose failure does not count as the model's. The response has the status 200. */
  streamedFaults: { name: 'StreamedFaults', unit: 'Count', dimensions: [[]] },
  /** Neither rejections from the gateway's cache nor requests without a key are counted. */
  rejectedKeys: { name: 'RejectedKeys', formerName: 'RefusedKeys', unit: 'Count', dimensions: one('reason') },
  /** Requests to a web function without a valid origin secret (uploads) or signed caller (other routes). */
  requestsWithoutOriginSecret: { name: 'Strangers', unit: 'Count', dimensions: [[]] },

  /** Without the cold start and the authorizer. A reply to `send-message` whose text must be JSON has no value. */
  timeToFirstDelta: { name: 'TimeToFirstDelta', unit: 'Milliseconds', dimensions: one('route') },
  /** Until the reply has ended, and is stored if it belongs to a chat. */
  replyTime: { name: 'ReplyTime', unit: 'Milliseconds', dimensions: one('route') },
  failedReplies: { name: 'FailedReplies', unit: 'Count', dimensions: one('route') },
  /** Each file is one value, so the sample count is the number of files. */
  uploadedBytes: { name: 'UploadedBytes', unit: 'Bytes', dimensions: one('route') },

  /** Calls that the provider rejects do not count. Aborted calls count, even without output. */
  modelCalls: { name: 'ModelCalls', unit: 'Count', dimensions: one('model') },
  promptTokens: { name: 'PromptTokens', unit: 'Count', dimensions: one('model') },
  completionTokens: { name: 'CompletionTokens', unit: 'Count', dimensions: one('model') },
  cachedTokens: { name: 'CachedTokens', unit: 'Count', dimensions: one('model') },
  modelRetries: { name: 'ModelRetries', unit: 'Count', dimensions: [['model'], ['failure']] },
  /** Replies in batches count too, although a later attempt may succeed. */
  modelFailures: { name: 'ModelFailures', unit: 'Count', dimensions: [['model'], ['failure']] },

  modelEventsSkipped: { name: 'ModelEventsSkipped', unit: 'Count', dimensions: [['model'], ['kind']] },

  steps: { name: 'Steps', unit: 'Count', dimensions: one('tool') },
  /** Interrupted steps count too. */
  failedSteps: { name: 'FailedSteps', unit: 'Count', dimensions: one('tool') },

  toolTime: { name: 'ToolTime', unit: 'Milliseconds', dimensions: one('tool') },
  /** Failures that the tool itself reports do not count, such as an error status of an HTTP API. */
  toolFailures: { name: 'ToolFailures', unit: 'Count', dimensions: [['tool'], ['failure']] },

  batchRequestsDone: { name: 'BatchRequestsDone', unit: 'Count', dimensions: [[]] },
  batchRequestsFailed: { name: 'BatchRequestsFailed', unit: 'Count', dimensions: [[]] },
  batchRequestsDelayed: {
    name: 'BatchRequestsDelayed',
    formerName: 'BatchRequestsPutOff',
    unit: 'Count',
    dimensions: [[]],
  },
  batchAge: { name: 'BatchAge', unit: 'Seconds', dimensions: one('status') },

  /** Of the batches that a run has checked: the age of the oldest whose next request waits for a worker, or 0. */
  oldestRequestWait: { name: 'OldestRequestWait', unit: 'Seconds', dimensions: [[]] },
  /** Of the batches that a run has checked: those that are open 15 minutes after their `expires_at`. */
  overdueBatches: { name: 'OverdueBatches', unit: 'Count', dimensions: [[]] },
  /** Of the purges and erasures that a run has read: those that have not ended after an hour. */
  overduePurges: { name: 'OverduePurges', unit: 'Count', dimensions: [[]] },

  unusedChatsDeleted: { name: 'UnusedChatsDeleted', unit: 'Count', dimensions: [[]] },

  webhooksExhausted: {
    name: 'WebhooksExhausted',
    formerName: 'WebhooksGivenUp',
    unit: 'Count',
    dimensions: [[]],
  },
  webhookAttempts: { name: 'WebhookAttempts', unit: 'Count', dimensions: one('outcome') },

  /** Uses whose write failed after all retries. A later write of the process may still contain them. */
  lostUsage: { name: 'LostUsage', unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof metrics;

/** Powertools adds this dimension to every dimension set. */
export const serviceDimension = { service: 'agent-service' } as const;
