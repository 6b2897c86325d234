/** What AWS lets through, as its documentation writes it. */
export const platformLimits = {
  /** API Gateway's. */
  addressAndHeaders: '10 KB',
  /** The payload of a function; the gateway itself would take 10 MB. */
  jsonBody: '6 MB',
  /** The same payload, of which base64 leaves a form three quarters. */
  gatewayUpload: '4.5 MB',
  /** A streamed answer of a function. */
  response: '200 MB',
} as const;

/** Limits of the interface (specification, section 8), and those that the specification leaves open. */
export const limits = {
  chatNameCharacters: 256,
  feedbackCharacters: 500,
  pageSizeDefault: 50,
  pageSizeMax: 1000,
  /** 256 KiB: with its keys and attributes a message stays one DynamoDB item (400 KB at most). */
  messageBytes: 256 * 1024,
  /** 256 characters of at most 4 bytes each: the 1,024 bytes that a DynamoDB sort key may have. */
  externalUserIdCharacters: 256,
  /** The most that a stage can let a message attach. */
  attachedFiles: 50,
  /** As many as a person would look through for one question. */
  attachedFilesDefault: 10,
  fileBytes: 50 * 1024 * 1024,
  /** Of a whole upload: 50 MB and 10 MB of other parts, beyond which nobody waits for the end of the body. */
  uploadBytes: 60 * 1024 * 1024,
  /** Of the part `data`: `{"scope": "ephemeral"}`, and room for whatever comes to stand beside it. */
  uploadDataBytes: 64 * 1024,
  fileNameCharacters: 255,
  ephemeralHours: 24,
  systemPromptCharacters: 32_768,
  /** A version of an agent is one DynamoDB item: 400 KB at most, with room for its attribute names. */
  agentBytes: 350_000,
  batchRequests: 1000,
  customIdCharacters: 256,
  webhookSecretCharacters: 255,
  /** Stripe's, and enough for any UUID, hash or path that a client makes its keys from. */
  idempotencyKeyCharacters: 255,
  /** A day: retries by machines take minutes, those by people until tomorrow. */
  idempotencyHours: 24,
  /** What browsers and proxies take. */
  webhookUrlCharacters: 2048,
  /** A message's id is its chat's times 2^21 plus its position, and below 2^53. */
  chatsOfWorkspace: 2 ** 32 - 1,
  /** Turns of two messages, at positions from 1 to 2^21 - 1. */
  messagesOfChat: 2 ** 21 - 2,
  /**
   * What may wait for the reader of a stream: some 20,000 events, minutes of what a model says. A reply of a megabyte that
   * comes letter by letter would be 200 MB of events.
   */
  unreadStreamCharacters: 4 * 1024 * 1024,
} as const;
