import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatUse, ChatUses } from '#domain/erasure/chat-uses.ts';
import type { WorkspaceStore } from '#domain/workspaces/workspace-store.ts';
import type { MemoryChatStores } from './chat-stores.ts';

export function memoryChatUses({
  allChats,
  batches,
  workspaces,
}: {
  allChats: MemoryChatStores['allChats'];
  batches: Pick<BatchStore, 'page' | 'requests'>;
  workspaces: Pick<WorkspaceStore, 'list'>;
}): ChatUses {
  const uses = new Map<string, ChatUse[]>();
  const added = new Map<string, number>();
  const usesOf = (workspaceId: string): ChatUse[] => uses.get(workspaceId) ?? [];
  const isSame = (one: ChatUse) => (other: ChatUse) =>
    one.chatId === other.chatId && one.lastUse === other.lastUse;
  const put = (workspaceId: string, more: readonly ChatUse[]): void => {
    const others = usesOf(workspaceId).filter((use) => !more.some(isSame(use)));
    uses.set(
      workspaceId,
      [...others, ...structuredClone(more)].sort((one, other) => one.lastUse.localeCompare(other.lastUse)),
    );
  };
  return {
    workspaces: async () =>
      (await workspaces.list()).flatMap(({ id: workspaceId, retentionDays: days }) =>
        days === null ? [] : [{ workspaceId, days }],
      ),
    async notAdded(workspaceId, limit) {
      const last = added.get(workspaceId) ?? 0;
      return allChats(workspaceId)
        .flatMap((chat: Chat | undefined) => (chat === undefined ? [] : [{ chatId: chat.id, chat }]))
        .filter(({ chatId }) => chatId > last)
        .slice(0, limit);
    },
    async add(workspaceId, more, upTo) {
      put(workspaceId, more);
      added.set(workspaceId, Math.max(added.get(workspaceId) ?? 0, upTo));
    },
    async *before(workspaceId, time, limit) {
      const found = structuredClone(usesOf(workspaceId)).filter(({ lastUse }) => lastUse < time);
      for (let first = 0; first < found.length; first += limit) yield found.slice(first, first + limit);
    },
    async replace(workspaceId, replaced) {
      put(
        workspaceId,
        replaced.flatMap(({ use: { chatId }, lastUse }) => (lastUse === null ? [] : [{ chatId, lastUse }])),
      );
      const removed = replaced.map(({ use }) => use);
      uses.set(
        workspaceId,
        usesOf(workspaceId).filter((use) => !removed.some(isSame(use))),
      );
    },
    async inOpenBatches(workspaceId, chatIds) {
      const found = new Set<number>();
      for (const status of ['in_progress', 'cancelling'] as const) {
        const open = await batches.page(workspaceId, { status }, { limit: 1000, offset: 0 });
        for (const batch of open.batches) {
          const indexes = Array.from({ length: batch.total }, (_, index) => index);
          for (const { historyId } of await batches.requests(batch, indexes))
            if (historyId !== null && chatIds.includes(historyId)) found.add(historyId);
        }
      }
      return found;
    },
  };
}
