/**
 * The names of the functions' environment variables. The stack sets them, unless a comment says otherwise. `lib`
 * imports only this module and the names of metrics from `runtime`.
 */
export const variables = {
  dataTable: 'DATA_TABLE_NAME',
  contentBucket: 'CONTENT_BUCKET_NAME',
  fileBucket: 'FILE_BUCKET_NAME',
  openAiBaseUrl: 'OPENAI_BASE_URL',
  /** As JSON: `{NAME: {url, secret}}`, with the ARN of the secret. Set if the stage has named endpoints. */
  openAiEndpoints: 'OPENAI_ENDPOINTS',
  /** Set in a local run that shows errors of model providers on its terminal. */
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
  /** Addresses that remote tools of agents may call although they are not public. */
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
  /** The ARNs of the secrets that the distribution may send. The first is that of the secret that it sends now. */
  originSecrets: 'ORIGIN_SECRET_ARNS',
  callerSecret: 'CALLER_SECRET_ARN',
  authorizerCacheSeconds: 'AUTHORIZER_CACHE_SECONDS',
  /**
   * The origin whose pages may read responses. Set only in a stage without a distribution, which would add the CORS
   * headers.
   */
  corsOrigin: 'CORS_ORIGIN',
  /** Set if a web function must respond to CORS preflights. The distribution adds the headers. */
  handlesPreflights: 'ANSWERS_PREFLIGHTS',
  /** Powertools reads this variable. */
  logLevel: 'POWERTOOLS_LOG_LEVEL',
  /** The CloudWatch namespace of the stack's metrics: the stack's name. */
  metricsNamespace: 'METRICS_NAMESPACE',
  /** The limits that apply to a workspace where it has none of its own, in the form of `formatLimits`. */
  stageLimits: 'STAGE_LIMITS',
  /** The number of slots of each pool, as JSON. */
  poolSizes: 'POOL_SIZES',
  /** `host:port` where a web function must listen. Lambda sets it, not the stack. */
  httpEndpoint: 'AWS_LAMBDA_HTTP_ENDPOINT',
} as const;

/** The header with the distribution's secret: it proves to the origins that a request came through the distribution. */
export const originSecretHeader = 'x-origin-secret';

/** The field of the authorizer's context with the signed caller. */
export const signedCallerField = 'signedCaller';

/**
 * The headers that the gateway adds to a request for a web function, in place of any that the client has sent: the
 * caller that the authorizer has signed, and the gateway's ids of the request.
 */
export const gatewayHeaders = {
  signedCaller: 'x-signed-caller',
  requestId: 'x-gateway-request-id',
  extendedRequestId: 'x-gateway-extended-request-id',
} as const;

/** The host that the client requested. Origins trust this header only together with the secret. */
export const viewerHostHeader = 'x-forwarded-host';

/** The error name of temporary failures: the workflow retries them. */
export const serviceUnavailable = 'ServiceUnavailable';
