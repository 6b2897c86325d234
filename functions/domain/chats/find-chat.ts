import { chatNotFound } from '#contract/errors.ts';
import { allEnded } from '#domain/platform/all-ended.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import { type Chat, isOpenTo } from './chat.ts';
import type { Services } from './services.ts';

/** A chat, by its id, and the user who asks for it, if any. */
export interface ChatOfUser {
  workspaceId: string;
  chatId: number;
  externalUserId: string | undefined;
}

/**
 * A chat that is open to the user.
 * @throws clientNotAllowed, then notFound `Chat not found`
 */
export async function findChat(services: Services<'chats' | 'workspaces'>, input: ChatOfUser): Promise<Chat> {
  const [, chat] = await allEnded([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.chats.get(input.workspaceId, input.chatId),
  ]);
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();
  return chat;
}
