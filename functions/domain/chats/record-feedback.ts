import { chatNotFound, ServiceError } from '#contract/errors.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { countMessages } from './count-messages.ts';
import type { Feedback } from './feedback-store.ts';
import { type ChatOfUser, findChat } from './find-chat.ts';
import { isReplyPosition, positionOf } from './message.ts';
import type { Services } from './services.ts';

/**
 * Rates a reply (specification, section 2.8). A user's new feedback on a message replaces the old one.
 * @throws clientNotAllowed, then notFound `Chat not found` or `Message not found`, then badRequest for a user's message
 */
export async function recordFeedback(
  services: Services<'chats' | 'clock' | 'feedback' | 'workspaces'>,
  input: ChatOfUser & Pick<Feedback, 'externalUserId' | 'type' | 'content'> & { messageId: number },
  awaitRateLimit: AwaitRateLimit,
): Promise<void> {
  const chat = await findChat(services, input);
  const position = positionOf(chat.id, input.messageId);
  if (position === undefined || position > (await countMessages(services, chat)))
    throw new ServiceError('notFound', 'Message not found');
  if (!isReplyPosition(position))
    throw new ServiceError('badRequest', 'message_id must be the id of an assistant message');
  await awaitRateLimit();
  const isRecorded = await services.feedback.record(chat, position, {
    ...{ externalUserId: input.externalUserId, type: input.type, content: input.content },
    createdAt: services.clock.now().toISOString(),
  });
  if (!isRecorded) throw chatNotFound();
}
