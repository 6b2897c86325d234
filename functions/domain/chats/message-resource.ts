import type { MessageResource } from '#contract/message.ts';
import { uploadedFileResource } from '#domain/files/uploaded-file-resource.ts';
import { groupId, messageId } from './message.ts';
import type { RatedMessage } from './message-store.ts';

/** A message as clients see it (specification, section 2.5). */
export const messageResource = async (
  services: Parameters<typeof uploadedFileResource>[0],
  chatId: number,
  { message, feedbackCounts }: RatedMessage,
): Promise<MessageResource> => ({
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
          ...(message.incomplete !== null && { incomplete: message.incomplete }),
        },
  attached_files:
    message.role === 'user'
      ? await Promise.all(message.attachments.map((file) => uploadedFileResource(services, file)))
      : [],
  feedback_counts: feedbackCounts,
  created_at: message.createdAt,
});
