import type { Chat } from './chat.ts';
import type { ChatServices } from './services.ts';

/** How many messages a chat shows: those of the turns that have ended, and what is stored of one that has not. */
export async function countMessages(services: Pick<ChatServices, 'chats'>, chat: Chat): Promise<number> {
  if (chat.lease === null) return chat.messageCount;
  const turn = await services.chats.openTurn(chat);
  return chat.messageCount + Number(turn.user) + Number(turn.reply);
}
