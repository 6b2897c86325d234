import { chatNotFound } from '#contract/errors.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { type ChatOfUser, findChat } from './find-chat.ts';
import type { Services } from './services.ts';

/**
 * Deletes a chat, and enqueues the purge of its data. It does not wait for a reply in progress, which ends like a stopped
 * one within a second.
 * @throws clientNotAllowed, then notFound `Chat not found`
 */
export async function deleteChat(
  services: Services<'chatDeletion' | 'chats' | 'clock' | 'log' | 'purgeQueue' | 'workspaces'>,
  input: ChatOfUser,
  awaitRateLimit: AwaitRateLimit,
): Promise<void> {
  const chat = await findChat(services, input);
  await awaitRateLimit();
  const deletedAt = services.clock.now().toISOString();
  if ((await services.chatDeletion.delete([chat], deletedAt)).length === 0) throw chatNotFound();
  const { workspaceId, chatId } = input;
  try {
    await services.purgeQueue.send([{ workspaceId, chatId, deletedAt }]);
  } catch (error) {
    services.log.warn('A purge was not enqueued: the reconciler will do so', { chatId, error });
  }
}
