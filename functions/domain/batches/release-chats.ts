import { type CloseTurnServices, closeAbandonedTurn } from '#domain/chats/close-abandoned-turn.ts';
import { type Batch, type BatchItem, chatLeaseOf } from './batch.ts';

/**
 * Ends the turns of requests that have no reply and hold their chat still, since they were given up, or waited when the
 * batch was stopped: its users would be told for minutes that a reply is in progress.
 */
export const releaseChats =
  (services: CloseTurnServices) =>
  async (batch: Batch, items: readonly BatchItem[]): Promise<void> => {
    await Promise.all(
      items.map(async ({ chatId, position }) => {
        if (chatId === null) return;
        const chat = await services.chats.get(batch.workspaceId, chatId);
        if (chat?.lease?.id === chatLeaseOf(batch, position)) await closeAbandonedTurn(services)(chat);
      }),
    );
  };
