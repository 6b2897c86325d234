import type { Chat } from './chat.ts';
import type { Services } from './services.ts';

/** The number of messages that clients see: those of ended turns, and the stored ones of an open turn. */
export async function countMessages(services: Services<'chats'>, chat: Chat): Promise<number> {
  if (chat.lease === null) return chat.messageCount;
  const turn = await services.chats.openTurn(chat);
  return chat.messageCount + Number(turn.user) + Number(turn.reply);
}
