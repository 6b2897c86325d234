import type { ReplyBudget } from '#domain/chats/reply-budget.ts';

/** Both the model and clients read these texts. */
export const limitTexts = {
  bytes: ({ limits }: ReplyBudget) =>
    `The answer was longer than the ${limits.replyBytes} bytes that it may have`,
  modelCalls: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.modelCalls} calls of models`,
  toolUses: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.toolUses} uses of tools: answer with what you have`,
  toolsAtOnce: ({ limits }: ReplyBudget) =>
    `At most ${limits.toolsAtOnce} tools may run at once in a reply: use fewer, or one after the other`,
} as const;
