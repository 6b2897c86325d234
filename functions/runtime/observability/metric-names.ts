/**
 * The metrics that functions tell in their logs (CloudWatch's embedded metric format), for dashboards and alarms.
 *
 * They stand in a namespace of the stack's own: `variables.metricsNamespace` has its name, the stack's. Each is kept
 * under every one of its `dimensions`: a metric of `[['route'], ['error_code']]` is found by its route, and by its code,
 * and not by both. A dimension has few values, because each new one is a metric that is paid for. What has many (the
 * workspace, the request, the chat, the batch) stands beside the metrics in the same line, as `workspace_id`,
 * `request_id` and so on, for Logs Insights.
 */
interface Metric {
  /** As CloudWatch shows it. */
  name: string;
  unit: 'Count' | 'Milliseconds' | 'Seconds' | 'Bytes';
  /** Names of the sets of dimensions. */
  dimensions: readonly (readonly MetricDimension[])[];
}

export type MetricDimension =
  /** Name of the route: a key of `contract/routes.ts`. */
  | 'route'
  /** `error_code` of the envelope, in digits. */
  | 'error_code'
  /** `llm_model` of an agent, `PROVIDER:MODEL`: as many as a stage uses. */
  | 'model'
  /** Of a model: `throttled`, `unavailable`, `tooLong`, `refused`, `failed`; `stalled` (silent for too long) or `slow` (in all). */
  | 'failure'
  /** `type` of a reasoning step (specification, section 6.1): six. */
  | 'tool'
  /** Final status of a batch: `completed`, `failed`, `cancelled`. */
  | 'status'
  /** Of an attempt to deliver a webhook: `delivered`, `refused` (another status), `unreachable`, `gone` (410). */
  | 'outcome'
  /** Why the authorizer refused: `unknown`, `revoked`, `expired`, `disabled` (the workspace). */
  | 'reason';

const one = <Dimension extends MetricDimension>(dimension: Dimension) => [[dimension]] as const;

export const metrics = {
  /** Requests that reached the function of their route, however they were answered. */
  requests: { name: 'Requests', unit: 'Count', dimensions: one('route') },
  /** Requests that were answered with an error, 4xx and 5xx: those of `error_code` 10005 are the service's own fault. */
  errors: { name: 'Errors', unit: 'Count', dimensions: [['route'], ['error_code']] },
  /** Keys that the authorizer refused. Refusals that the gateway has cached are not counted again. */
  rejectedKeys: { name: 'RefusedKeys', unit: 'Count', dimensions: one('reason') },
  /** Connections that the web function of uploads has closed unread: they came without the distribution's secret. */
  strangers: { name: 'Strangers', unit: 'Count', dimensions: [[]] },

  /** From the begin of `send-message` to the first piece of the reply's text; without a cold start and the authorizer. */
  timeToFirstDelta: { name: 'TimeToFirstDelta', unit: 'Milliseconds', dimensions: one('route') },
  /** From the begin of `send-message` to the moment when the reply is stored and everything has been told. */
  replyTime: { name: 'ReplyTime', unit: 'Milliseconds', dimensions: one('route') },
  /** Turns whose reply is not whole: they were answered with `response.error`, or with 500. */
  failedReplies: { name: 'FailedReplies', unit: 'Count', dimensions: one('route') },
  /** Files that were stored, and their sizes: as many values as files. */
  uploadedBytes: { name: 'UploadedBytes', unit: 'Bytes', dimensions: one('route') },

  /** Calls of a model that it answered: chats, titles excepted, and batches. */
  modelCalls: { name: 'ModelCalls', unit: 'Count', dimensions: one('model') },
  promptTokens: { name: 'PromptTokens', unit: 'Count', dimensions: one('model') },
  completionTokens: { name: 'CompletionTokens', unit: 'Count', dimensions: one('model') },
  /** Calls that were made again, since the model had been throttled or unavailable before it said anything. */
  modelRetries: { name: 'ModelRetries', unit: 'Count', dimensions: [['model'], ['failure']] },
  /** Replies that a model's failure has ended, after its retries; of batches too, which try again later. */
  modelFailures: { name: 'ModelFailures', unit: 'Count', dimensions: [['model'], ['failure']] },

  /** Reasoning steps that have ended. */
  steps: { name: 'Steps', unit: 'Count', dimensions: one('tool') },
  /** Those of them without success. */
  failedSteps: { name: 'FailedSteps', unit: 'Count', dimensions: one('tool') },

  /** Requests of batches that a worker has ended. Those that a stop ended have had no worker. */
  batchRequestsDone: { name: 'BatchRequestsDone', unit: 'Count', dimensions: [[]] },
  batchRequestsFailed: { name: 'BatchRequestsFailed', unit: 'Count', dimensions: [[]] },
  /** Requests of batches that went back into the queue, for a model that is busy or a history that is in use. */
  batchRequestsDelayed: { name: 'BatchRequestsPutOff', unit: 'Count', dimensions: [[]] },
  /** From the creation of a batch to its end: as many values as batches that ended. */
  batchAge: { name: 'BatchAge', unit: 'Seconds', dimensions: one('status') },

  /** Batches that are open a quarter of an hour after their time was up: told at every run of the reconciler. */
  overdueBatches: { name: 'OverdueBatches', unit: 'Count', dimensions: [[]] },

  /** Webhooks whose last attempt has failed. */
  webhooksExhausted: { name: 'WebhooksGivenUp', unit: 'Count', dimensions: [[]] },
  webhookAttempts: { name: 'WebhookAttempts', unit: 'Count', dimensions: one('outcome') },

  /** Writes of usage that failed for good: what `agentctl usage` tells is too low by so many turns or invocations. */
  lostUsage: { name: 'LostUsage', unit: 'Count', dimensions: [[]] },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof metrics;

/**
 * Stands in every set of dimensions, the empty one too, as Powertools does it: `[['route']]` above is
 * `{ service, route }` in CloudWatch.
 */
export const serviceDimension = { service: 'agent-service' } as const;
