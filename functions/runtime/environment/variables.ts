/** The stack sets these variables, unless a comment says otherwise. */
export const variables = {
  dataTable: 'DATA_TABLE_NAME',
  contentBucket: 'CONTENT_BUCKET_NAME',
  fileBucket: 'FILE_BUCKET_NAME',
  openAiBaseUrl: 'OPENAI_BASE_URL',
  /** `{NAME: {url, secret}}` as JSON, with the ARN of the secret. */
  openAiEndpoints: 'OPENAI_ENDPOINTS',
  /** Set in a local run. */
  showProviderErrors: 'SHOW_PROVIDER_ERRORS',
  openAiApiKeySecret: 'OPENAI_API_KEY_SECRET_ARN',
  streamTimeoutSeconds: 'STREAM_TIMEOUT_SECONDS',
  leaseSeconds: 'LEASE_SECONDS',
  plainReplySeconds: 'PLAIN_REPLY_SECONDS',
  batchQueueUrl: 'BATCH_QUEUE_URL',
  purgeQueueUrl: 'PURGE_QUEUE_URL',
  batchWorkflowArn: 'BATCH_WORKFLOW_ARN',
  batchTimeoutSeconds: 'BATCH_TIMEOUT_SECONDS',
  batchItemSeconds: 'BATCH_ITEM_SECONDS',
  batchWorkspaceSlots: 'BATCH_WORKSPACE_SLOTS',
  requestsPerWorker: 'REQUESTS_PER_WORKER',
  prepareAttachmentFunction: 'PREPARE_ATTACHMENT_FUNCTION_ARN',
  /** Operators' commands set this variable. */
  testAgentFunction: 'TEST_AGENT_FUNCTION_ARN',
  historyCharacters: 'HISTORY_CHARACTERS',
  attachedFiles: 'ATTACHED_FILES',
  replyBytes: 'REPLY_BYTES',
  replyModelCalls: 'REPLY_MODEL_CALLS',
  replyToolUses: 'REPLY_TOOL_USES',
  replyToolsAtOnce: 'REPLY_TOOLS_AT_ONCE',
  outboundAllow: 'OUTBOUND_ALLOW',
  toolAllow: 'TOOL_ALLOW',
  toolSecretKey: 'TOOL_SECRET_KEY_ARN',
  webhookAllow: 'WEBHOOK_ALLOW',
  webhookPlainLoopback: 'WEBHOOK_PLAIN_LOOPBACK',
  webhookKey: 'WEBHOOK_KEY_ARN',
  webhookTimeoutSeconds: 'WEBHOOK_TIMEOUT_SECONDS',
  webhookRetrySeconds: 'WEBHOOK_RETRY_SECONDS',
  webSearchProvider: 'WEB_SEARCH_PROVIDER',
  webSearchUrl: 'WEB_SEARCH_URL',
  webSearchApiKeySecret: 'WEB_SEARCH_API_KEY_SECRET_ARN',
  usageDays: 'USAGE_DAYS',
  /** The secret of the setting `originSecretGeneration` comes first. */
  originSecrets: 'ORIGIN_SECRET_ARNS',
  callerSecret: 'CALLER_SECRET_ARN',
  authorizerCacheSeconds: 'AUTHORIZER_CACHE_SECONDS',
  /** Set only in a stage without a distribution, which would add the CORS headers. */
  corsOrigin: 'CORS_ORIGIN',
  /** Set if the web function of the uploads must respond to CORS preflights. */
  handlesPreflights: 'ANSWERS_PREFLIGHTS',
  /** Powertools reads this variable. */
  logLevel: 'POWERTOOLS_LOG_LEVEL',
  metricsNamespace: 'METRICS_NAMESPACE',
  stageLimits: 'STAGE_LIMITS',
  poolSizes: 'POOL_SIZES',
  /** `host:port`. Lambda sets it. */
  httpEndpoint: 'AWS_LAMBDA_HTTP_ENDPOINT',
} as const;

/** Proves to the origins that a request came through the distribution. */
export const originSecretHeader = 'x-origin-secret';

export const signedCallerField = 'signedCaller';

/** In requests that the gateway forwards to a web function, it replaces what a client has sent in these headers. */
export const gatewayHeaders = {
  signedCaller: 'x-signed-caller',
  requestId: 'x-gateway-request-id',
  extendedRequestId: 'x-gateway-extended-request-id',
} as const;

/** Origins trust this header only together with a valid `originSecretHeader`. */
export const viewerHostHeader = 'x-forwarded-host';

/** The workflow retries errors with this name. */
export const serviceUnavailable = 'ServiceUnavailable';
