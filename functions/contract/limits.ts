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
  /** The most that a stage can let a message attach; 10 unless it says otherwise. */
  attachedFiles: 50,
  fileBytes: 50 * 1024 * 1024,
  /** Of a whole upload: 50 MB and 10 MB of other parts, beyond which nobody waits for the end of the body. */
  uploadBytes: 60 * 1024 * 1024,
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
} as const;
