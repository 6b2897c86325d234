/** Names of the environment variables that the stack gives to functions: all that `lib` and `runtime` share. */
export const variables = {
  dataTable: 'DATA_TABLE_NAME',
  contentBucket: 'CONTENT_BUCKET_NAME',
  fileBucket: 'FILE_BUCKET_NAME',
  openAiBaseUrl: 'OPENAI_BASE_URL',
  openAiApiKeySecret: 'OPENAI_API_KEY_SECRET_ARN',
  streamTimeoutSeconds: 'STREAM_TIMEOUT_SECONDS',
  leaseSeconds: 'LEASE_SECONDS',
  plainReplySeconds: 'PLAIN_REPLY_SECONDS',
  batchQueueUrl: 'BATCH_QUEUE_URL',
  batchWorkflowArn: 'BATCH_WORKFLOW_ARN',
  batchTimeoutSeconds: 'BATCH_TIMEOUT_SECONDS',
  batchItemSeconds: 'BATCH_ITEM_SECONDS',
  batchWorkspaceSlots: 'BATCH_WORKSPACE_PLACES',
  prepareAttachmentFunction: 'PREPARE_ATTACHMENT_FUNCTION_ARN',
  historyCharacters: 'HISTORY_CHARACTERS',
  attachedFiles: 'ATTACHED_FILES',
  replyBytes: 'REPLY_BYTES',
  replyModelCalls: 'REPLY_MODEL_CALLS',
  replyToolUses: 'REPLY_TOOL_USES',
  replyToolsAtOnce: 'REPLY_TOOLS_AT_ONCE',
  outboundAllow: 'OUTBOUND_ALLOW',
  webhookAllow: 'WEBHOOK_ALLOW',
  webhookKey: 'WEBHOOK_KEY_ARN',
  webhookTimeoutSeconds: 'WEBHOOK_TIMEOUT_SECONDS',
  webhookRetrySeconds: 'WEBHOOK_RETRY_SECONDS',
  webSearchProvider: 'WEB_SEARCH_PROVIDER',
  webSearchUrl: 'WEB_SEARCH_URL',
  webSearchApiKeySecret: 'WEB_SEARCH_API_KEY_SECRET_ARN',
  usageDays: 'USAGE_DAYS',
  originSecret: 'ORIGIN_SECRET_ARN',
  /** The origin whose pages may read responses. Only where no distribution says so. */
  corsOrigin: 'CORS_ORIGIN',
  /** Set where a web function is asked for preflights, to whose responses the distribution adds the headers. */
  answersPreflights: 'ANSWERS_PREFLIGHTS',
  /** Read by Powertools. */
  logLevel: 'POWERTOOLS_LOG_LEVEL',
  /** Where the metrics of this stack stand: the stack's name. */
  metricsNamespace: 'METRICS_NAMESPACE',
  /** Of workspaces without their own, as `formatLimits` writes them. */
  stageLimits: 'STAGE_LIMITS',
  /** Where a web function listens: given by Lambda itself, `host:port`. */
  httpEndpoint: 'AWS_LAMBDA_HTTP_ENDPOINT',
} as const;

/** What the distribution sends to its origins, so that they know it. */
export const originSecretHeader = 'x-origin-secret';

/** The address that the viewer asked for, which origins believe beside the secret alone. */
export const viewerHostHeader = 'x-forwarded-host';

/** The name of an error that another attempt may mend, for the workflow. */
export const serviceUnavailable = 'ServiceUnavailable';
