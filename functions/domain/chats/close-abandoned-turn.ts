import { errorTable } from '#contract/errors.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Chat } from './chat.ts';
import { interrupted } from './gather-reply.ts';
import { noUsage } from './message.ts';
import type { ChatServices } from './services.ts';

/** Whoever settles a turn stores a message without a text, and reads none. */
export interface CloseTurnServices extends Pick<ChatServices, 'chats'>, Pick<PlatformServices, 'clock'> {
  messages: Pick<ChatServices['messages'], 'putAndRelease'>;
}

/**
 * Ends a turn that its holder did not end: a user message without a reply gets one that says so, and the chat is free.
 * Whatever is written holds only while the lease is the one that was found, so that several may settle at once, and
 * beside a holder that is late, without touching a turn that came after it.
 * @param reason why there is no reply, for clients to read
 */
export const closeAbandonedTurn =
  (services: CloseTurnServices) =>
  async (chat: Chat, reason = interrupted): Promise<void> => {
    if (chat.lease === null) return;
    const position = chat.messageCount + 1;
    for (;;) {
      const turn = await services.chats.openTurn(chat);
      if (!turn.user || turn.reply) {
        const messageCount = turn.user ? position + 1 : chat.messageCount;
        await services.chats.releaseLease(chat, chat.lease.id, messageCount);
        return;
      }
      const outcome = await services.messages.putAndRelease(chat, chat.lease.id, {
        role: 'assistant',
        position: position + 1,
        content: '',
        createdAt: services.clock.now().toISOString(),
        agentVersionId: null,
        reasoningSteps: [],
        tokenUsage: noUsage,
        error: { code: errorTable.serverError.errorCode, message: reason },
        incomplete: null,
      });
      if (outcome !== 'place taken') return;
    }
  };
