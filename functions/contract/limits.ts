/** Limits of AWS, written as in its documentation. */
export const platformLimits = {
  /** The limit of API Gateway. */
  addressAndHeaders: '10 KB',
  /** The request payload of a Lambda function. API Gateway itself accepts 10 MB. */
  jsonBody: '6 MB',
  /** A form in the request payload of a Lambda function: base64 leaves three quarters of the 6 MB for it. */
  gatewayUpload: '4.5 MB',
  /** A streamed response of a Lambda function. */
  response: '200 MB',
} as const;

/** Limits of the interface (specification, section 8), and limits that the specification leaves open. */
export const limits = {
  chatNameCharacters: 256,
  feedbackCharacters: 500,
  metadataPairs: 16,
  metadataKeyCharacters: 64,
  /**
   * As JSON. A turn writes the item of its chat twice or more, with these bytes usually still for one unit (1 KB) each.
   */
  metadataBytes: 500,
  pageSizeDefault: 50,
  pageSizeMax: 1000,
  /** 256 KiB: a message with its keys and attributes fits into one DynamoDB item (at most 400 KB). */
  messageBytes: 256 * 1024,
  /** 256 characters of at most 4 bytes fit into a DynamoDB sort key (at most 1,024 bytes). */
  externalUserIdCharacters: 256,
  /** Nested objects and arrays in a JSON body. The tools of a completion have about ten levels. */
  bodyLevels: 64,
  /** Files of one message: the upper bound of the stage's setting. */
  attachedFiles: 50,
  /** Files of one message by default: as many as a person would read for one question. */
  attachedFilesDefault: 10,
  fileBytes: 50 * 1024 * 1024,
  /** The whole body of an upload: 50 MB of file and 10 MB of other parts. The service reads no further. */
  uploadBytes: 60 * 1024 * 1024,
  /** Slower uploads are ended: this is 1 KB a second. */
  uploadBytesPerMinute: 60 * 1024,
  /** A form has the parts `file` and `data`. Clients may add a few of their own. */
  uploadParts: 8,
  /** Bytes of the headers of all parts. A name of 255 characters with 4 bytes each is 3 KB when it is percent-encoded. */
  partHeaderBytes: 16 * 1024,
  /** The part `data`: `{"scope": "ephemeral"}` and room for fields that may be added. */
  uploadDataBytes: 64 * 1024,
  fileNameCharacters: 255,
  ephemeralHours: 24,
  /**
   * The time for which a `file_url` is valid: enough to start a download after a page was loaded. A leaked URL soon
   * becomes useless.
   */
  fileUrlMinutes: 15,
  systemPromptCharacters: 32_768,
  /** A version of an agent is one DynamoDB item (at most 400 KB); the rest is room for attribute names. */
  agentBytes: 350_000,
  batchRequests: 1000,
  /** An event may be named twice. Without a limit, each of very many elements would be a separate error. */
  webhookEvents: 100,
  customIdCharacters: 256,
  webhookSecretCharacters: 255,
  /** Stripe's limit: enough for any UUID, hash or path. */
  idempotencyKeyCharacters: 255,
  /** Clients retry within minutes, people within a day. */
  idempotencyHours: 24,
  /**
   * A client that lost its connection resumes within minutes. An hour is also enough for a device that was in standby.
   */
  resumableMinutes: 60,
  /** Maximum time of a streamed reply, from the arrival of its request: more than any reply needs. */
  replySeconds: 300,
  /**
   * Maximum time of one response that resumes a stream: 15 minutes, the maximum of Lambda and the gateway, without the
   * last 10 s.
   */
  resumedSeconds: 890,
  /** A response id has 43 characters; room for other forms. */
  responseIdCharacters: 256,
  /** Highest sequence number of the events of a stream. No reply has so many events, and seven digits sort as text. */
  sequenceNumberMax: 9_999_999,
  /** The length that browsers and proxies accept. */
  webhookUrlCharacters: 2048,
  /** A message id is the chat id times 2^21 plus the position, and must be below 2^53. */
  chatsOfWorkspace: 2 ** 32 - 1,
  /** Positions are 1 to 2^21 - 1. A turn has two messages, so the number is even. */
  messagesOfChat: 2 ** 21 - 2,
  /**
   * Characters of events that may be buffered for a slow reader of a stream: about 20,000 events, minutes of a model's
   * output. Without the limit, a reply of 1 MB with a delta for each letter could buffer 200 MB.
   */
  unreadStreamCharacters: 4 * 1024 * 1024,
} as const;

const kilobyte = 1024;

/** A whole number of KB or MB. */
export const bytesInWords = (bytes: number): string =>
  bytes % (kilobyte * kilobyte) === 0 ? `${bytes / kilobyte / kilobyte} MB` : `${bytes / kilobyte} KB`;

/**
 * A limited number of slots in the whole stage.
 * - `replies`, `uploads`: the concurrent requests in the environments of a web function.
 * - `readers`: the executions of short routes that have waited for their reader.
 * - `preparations`: the executions that prepare attachments.
 * - `webhooks`: the executions that call a receiver that has failed before.
 */
export type Pool = (typeof poolNames)[number];
export const poolNames = ['replies', 'uploads', 'readers', 'preparations', 'webhooks'] as const;

/** How many agents a request has come through, which is that of each request of a tool. */
export const depthHeader = 'x-agent-depth';

/** A request of this depth is rejected: agents that reach themselves through their tools would do so without end. */
export const maxAgentDepth = 3;
