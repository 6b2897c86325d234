/**
 * What a JSON response to a send says about its reply. There `data` is a string, so the body has no place for it. The
 * headers are additions to the specification.
 */
export const replyHeaders = {
  messageId: 'x-message-id',
  responseId: 'x-response-id',
  tokenUsage: 'x-token-usage',
  incomplete: 'x-reply-incomplete',
} as const;
