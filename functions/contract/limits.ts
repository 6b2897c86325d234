/** Limits of AWS, as texts for error messages and for the OpenAPI document. */
export const platformLimits = {
  /** API Gateway's limit for the address and the headers of a request together. */
  addressAndHeaders: '10 KB',
  /** Lambda's limit for the payload of a request. API Gateway itself accepts 10 MB. */
  jsonBody: '6 MB',
  /** A form reaches a Lambda function in base64. So three quarters of the 6 MB of a payload are left for the form. */
  gatewayUpload: '4.5 MB',
  /** Lambda's limit for a streamed response. */
  response: '200 MB',
} as const;

/** Limits of the interface (specification, section 8), and limits that the specification leaves open. */
export const limits = {
  chatNameCharacters: 256,
  feedbackCharacters: 500,
  metadataPairs: 16,
  metadataKeyCharacters: 64,
  /**
   * Bytes of the metadata as JSON. A turn writes the item of its chat at least twice. With 500 bytes of metadata, the
   * item usually still fits into 1 KB, and DynamoDB charges writes by the KB.
   */
  metadataBytes: 500,
  pageSizeDefault: 50,
  pageSizeMax: 1000,
  /** 256 KiB: a message with its keys and attributes fits into one DynamoDB item (at most 400 KB). */
  messageBytes: 256 * 1024,
  /** 256 characters of at most 4 bytes fit into a DynamoDB sort key (at most 1,024 bytes). */
  externalUserIdCharacters: 256,
  /** Levels of objects and arrays inside each other in a JSON body. */
  bodyLevels: 64,
  /** Files of one message that the schemas of requests accept. Use cases allow fewer. */
  attachedFiles: 50,
  /** Files of one message that use cases allow by default. */
  attachedFilesDefault: 10,
  fileBytes: 50 * 1024 * 1024,
  /** The whole body of an upload: 50 MB of file and 10 MB of other parts. */
  uploadBytes: 60 * 1024 * 1024,
  /** An upload with fewer bytes in a minute is too slow. This is 1 KB a second. */
  uploadBytesPerMinute: 60 * 1024,
  /** A form has the parts `file` and `data`. Clients may add a few of their own. */
  uploadParts: 8,
  /**
   * Bytes of the headers of all parts together. A file name of 255 characters with 4 bytes each has 3 KB when it is
   * percent-encoded.
   */
  partHeaderBytes: 16 * 1024,
  /** The part `data`: `{"scope": "ephemeral"}` and room for fields that may be added. */
  uploadDataBytes: 64 * 1024,
  fileNameCharacters: 255,
  ephemeralHours: 24,
  /**
   * How long a `file_url` is valid at most: long enough to start a download after a page was loaded, and so short that
   * a leaked URL soon becomes useless.
   */
  fileUrlMinutes: 15,
  systemPromptCharacters: 32_768,
  /**
   * Bytes of an agent as JSON. A version of it is one DynamoDB item (at most 400 KB), which has attribute names too.
   */
  agentBytes: 350_000,
  batchRequests: 1000,
  /**
   * Elements of a webhook's `events`. There are three events, but one may be named twice. The limit exists because each
   * wrong element is a separate error.
   */
  webhookEvents: 100,
  customIdCharacters: 256,
  webhookSecretCharacters: 255,
  /** Stripe's limit. */
  idempotencyKeyCharacters: 255,
  /** How long an idempotency key is known. */
  idempotencyHours: 24,
  /** How long a stream can be resumed after its start. */
  resumableMinutes: 60,
  /** Maximum time of a streamed reply, from the arrival of its request. */
  replySeconds: 300,
  /**
   * Maximum time of one response that resumes a stream: 15 minutes, the maximum of Lambda and the gateway, without the
   * last 10 s.
   */
  resumedSeconds: 890,
  /** With room for later forms of response ids. */
  responseIdCharacters: 256,
  /**
   * Highest sequence number of the events of a stream. The keys of stored events contain the number with seven digits,
   * so that they sort as text.
   */
  sequenceNumberMax: 9_999_999,
  /** A length that browsers and proxies accept. */
  webhookUrlCharacters: 2048,
  /** A message id is the chat id times 2^21 plus the position, and must be below 2^53. */
  chatsOfWorkspace: 2 ** 32 - 1,
  /** Positions are 1 to 2^21 - 1. A turn has two messages, so the number is even. */
  messagesOfChat: 2 ** 21 - 2,
  /** Characters of events that may be buffered for a slow reader of a stream. */
  unreadStreamCharacters: 4 * 1024 * 1024,
} as const;

const kilobyte = 1024;

/** The size as a text: in MB if it is a whole number of MB, such as `6 MB`, otherwise in KB, such as `64 KB`. */
export const bytesInWords = (bytes: number): string =>
  bytes % (kilobyte * kilobyte) === 0 ? `${bytes / kilobyte / kilobyte} MB` : `${bytes / kilobyte} KB`;

/**
 * The name of a pool. A pool has a limited number of slots in the whole stage. What takes a slot:
 * - `replies`, `uploads`: each request that a web function is serving.
 * - `readers`: each execution of a list route that has waited for a slow reader.
 * - `preparations`: each execution that prepares an attachment.
 * - `webhooks`: each execution that repeats the call of a webhook after a failure.
 */
export type Pool = (typeof poolNames)[number];
export const poolNames = ['replies', 'uploads', 'readers', 'preparations', 'webhooks'] as const;

/** A header of the HTTP requests of remote tools: the number of agents that the request has come through. */
export const depthHeader = 'x-agent-depth';

/**
 * Requests of this depth or more are rejected; those that create a batch from depth 1. Otherwise agents that reach
 * themselves through their tools would call each other without end.
 */
export const maxAgentDepth = 3;
