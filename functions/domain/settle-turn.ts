import { errorTable } from '#contract/errors.ts';
import type { Chat } from './chat.ts';
import { noUsage } from './message.ts';
import type { Services } from './services.ts';

/**
 * Ends a turn that its holder did not end: a user message without a reply gets one that says so, and the chat is free.
 * Every write is conditional, so that several may settle at once, and beside a holder that is late.
 */
export const settleTurn =
  (services: Pick<Services, 'chats' | 'clock' | 'messages'>) =>
  async (chat: Chat): Promise<void> => {
    if (chat.lease === null) return;
    const position = chat.messageCount + 1;
    const turn = await services.messages.turnAt(chat, position);
    if (turn.user && !turn.reply)
      await services.messages.put(chat, {
        role: 'assistant',
        position: position + 1,
        content: '',
        createdAt: services.clock.now().toISOString(),
        agentVersionId: null,
        reasoningSteps: [],
        tokenUsage: noUsage,
        error: { code: errorTable.serverError.errorCode, message: 'The reply was interrupted' },
      });
    await services.chats.releaseLease(chat, chat.lease.id, turn.user ? position + 1 : chat.messageCount);
  };
