import type { MessageResource } from '#contract/message.ts';
import { groupId, messageId } from './message.ts';
import type { RatedMessage } from './ports/message-store.ts';

/** What clients see of a message (specification, section 2.5). */
export const messageResource = (
  chatId: number,
  { message, feedbackCounts }: RatedMessage,
): MessageResource => ({
  id: messageId(chatId, message.position),
  role: message.role,
  group_id: groupId(chatId, message.position),
  content: message.content,
  meta:
    message.role === 'user'
      ? {}
      : {
          reasoning_steps: message.reasoningSteps,
          token_usage: message.tokenUsage,
          ...(message.error !== null && { error: message.error }),
        },
  attached_files: [],
  feedback_counts: feedbackCounts,
  created_at: message.createdAt,
});
