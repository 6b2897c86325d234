import { errorTable } from '#contract/errors.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Chat, Lease } from './chat.ts';
import { interrupted } from './gather-reply.ts';
import { type AssistantMessage, noUsage } from './message.ts';
import type { ChatServices } from './services.ts';

/** The message that closes a turn is empty, so `messages` needs no store for texts outside of the table. */
export interface CloseTurnServices extends Pick<ChatServices, 'chats'>, Pick<PlatformServices, 'clock'> {
  messages: Pick<ChatServices['messages'], 'putAndRelease'>;
}

/**
 * Closes a turn that its function did not end: a user message without a reply gets an empty reply, with an error unless
 * a client had asked to stop it, and the chat lease is released. Each write has the condition that the lease is still the given one. So several functions
 * may close the same turn concurrently, also with the function that owned it, and none touches a later turn.
 * @param reason error message of the empty reply, for clients
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
        ...endOf(chat.lease, reason),
      });
      if (outcome !== 'position-taken') return;
    }
  };

const endOf = ({ isStopped }: Lease, reason: string): Pick<AssistantMessage, 'error' | 'incomplete'> =>
  isStopped
    ? { error: null, incomplete: 'stopped' }
    : { error: { code: errorTable.serverError.errorCode, message: reason }, incomplete: null };
