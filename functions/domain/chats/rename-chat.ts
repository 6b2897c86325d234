import { chatNotFound } from '#contract/errors.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import type { Chat } from './chat.ts';
import { type ChatOfUser, findChat } from './find-chat.ts';
import type { Services } from './services.ts';

/**
 * Gives a chat another name.
 * @throws clientNotAllowed, then notFound `Chat not found`
 */
export async function renameChat(
  services: Services<'chats' | 'clock' | 'workspaces'>,
  { name, ...input }: ChatOfUser & { name: string },
  awaitRateLimit: AwaitRateLimit,
): Promise<Chat> {
  const chat = await findChat(services, input);
  await awaitRateLimit();
  const updatedAt = services.clock.now().toISOString();
  if (!(await services.chats.rename(chat, name, updatedAt))) throw chatNotFound();
  return { ...chat, name, updatedAt };
}
