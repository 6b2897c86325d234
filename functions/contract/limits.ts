export const platformLimits = {
  /** API Gateway's limit. */
  addressAndHeaders: '10 KB',
  /** Lambda's limit. API Gateway accepts 10 MB. */
  jsonBody: '6 MB',
  /** Three quarters of the 6 MB: a Lambda function gets a form in base64. */
  gatewayUpload: '4.5 MB',
  /** Lambda's limit of a streamed response. */
  response: '200 MB',
} as const;

/** Specification, section 8, and limits that it leaves open. */
export const limits = {
  chatNameCharacters: 256,
  feedbackCharacters: 500,
  metadataPairs: 16,
  metadataKeyCharacters: 64,
  /** As JSON. The item of a chat should fit into 1 KB, because DynamoDB charges writes by the KB. */
  metadataBytes: 500,
  pageSizeDefault: 50,
  pageSizeMax: 1000,
  /** So that a user's message, with keys and attributes, fits into one DynamoDB item (400 KB). */
  messageBytes: 256 * 1024,
  /** 256 characters of at most 4 bytes fit into a DynamoDB sort key (at most 1,024 bytes). */
  externalUserIdCharacters: 256,
  bodyLevels: 64,
  /** What the schemas of requests accept. Use cases allow fewer. */
  attachedFiles: 50,
  attachedFilesDefault: 10,
  fileBytes: 50 * 1024 * 1024,
  /** Of the whole form: the largest file and 10 MB more. */
  uploadBytes: 60 * 1024 * 1024,
  uploadBytesPerMinute: 60 * 1024,
  uploadParts: 8,
  /** Of all parts together. A file name of 255 characters with 4 bytes each has 3 KB when it is percent-encoded. */
  partHeaderBytes: 16 * 1024,
  uploadDataBytes: 64 * 1024,
  fileNameCharacters: 255,
  ephemeralHours: 24,
  /** Long enough to start a download after a page was loaded, and short, because a URL may leak. */
  fileUrlMinutes: 15,
  systemPromptCharacters: 32_768,
  /** Of a definition, as JSON. Its DynamoDB item may have 400 KB, with other attributes. */
  agentBytes: 350_000,
  batchRequests: 1000,
  /** Each wrong element is a separate error, and errors need memory. */
  webhookEvents: 100,
  customIdCharacters: 256,
  webhookSecretCharacters: 255,
  /** Stripe's limit. */
  idempotencyKeyCharacters: 255,
  idempotencyHours: 24,
  resumableMinutes: 60,
  /** Of a streamed reply, from the arrival of its request; and of the reply in a test of an agent. */
  replySeconds: 300,
  /** 15 minutes, the maximum of Lambda and the gateway, without the last 10 s. */
  resumedSeconds: 890,
  /** With room for later forms of response ids. */
  responseIdCharacters: 256,
  /** The keys of stored events contain the number with seven digits, so that they sort as text. */
  sequenceNumberMax: 9_999_999,
  /** A length that browsers and proxies accept. */
  webhookUrlCharacters: 2048,
  /** A message id is the chat id times 2^21 plus the position, and must be below 2^53. */
  chatsOfWorkspace: 2 ** 32 - 1,
  /** Positions are 1 to 2^21 - 1. A turn has two messages, so the number is even. */
  messagesOfChat: 2 ** 21 - 2,
  unreadStreamCharacters: 4 * 1024 * 1024,
} as const;

const kilobyte = 1024;

export const bytesInWords = (bytes: number): string =>
  bytes % (kilobyte * kilobyte) === 0 ? `${bytes / kilobyte / kilobyte} MB` : `${bytes / kilobyte} KB`;

/** The workspaces of a stage share the slots of a pool. */
export type Pool = (typeof poolNames)[number];
export const poolNames = ['replies', 'uploads', 'readers', 'preparations', 'webhooks'] as const;

/** The number of replies that a remote tool's request has come through. */
export const depthHeader = 'x-agent-depth';

/**
 * Requests are rejected from this depth, and requests that create a batch from depth 1: agents that reach themselves
 * through their tools would call each other without end.
 */
export const maxAgentDepth = 3;
