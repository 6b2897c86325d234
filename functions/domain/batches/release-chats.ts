import { type CloseTurnServices, closeAbandonedTurn } from '#domain/chats/close-abandoned-turn.ts';
import { type Batch, type BatchItem, chatLeaseOf } from './batch.ts';

/**
 * Closes the turns of requests without a reply that still own their chat: abandoned ones, and those that waited for a
 * retry when the batch was stopped. Otherwise users of the chat would get `A reply is already in progress` for minutes.
 */
export const releaseChats =
  (services: CloseTurnServices) =>
  async (batch: Batch, items: readonly Pick<BatchItem, 'requestIndex' | 'chatId'>[]): Promise<void> => {
    await Promise.all(
      items.map(async ({ chatId, requestIndex }) => {
        if (chatId === null) return;
        const chat = await services.chats.get(batch.workspaceId, chatId);
        if (chat?.lease?.id === chatLeaseOf(batch, requestIndex)) await closeAbandonedTurn(services)(chat);
      }),
    );
  };
