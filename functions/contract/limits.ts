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
  attachedFiles: 10,
  systemPromptCharacters: 32_768,
  /** A version of an agent is one DynamoDB item: 400 KB at most, with room for its attribute names. */
  agentBytes: 350_000,
} as const;
