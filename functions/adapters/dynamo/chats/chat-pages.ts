import { livingIndexes, readGoneRoot } from '#adapters/dynamo/table/gone-indexes.ts';
import { listIndexes, readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { ChatFilter, ChatPages } from '#domain/chats/chat-store.ts';
import { existingChatOf } from './chat-item.ts';

/** A page is read again so often if a chat on it is deleted meanwhile. */
const rereads = 3;

export const dynamoChatPages = (table: Table): ChatPages => ({
  page: async (filter, { limit, offset, ascending }) => {
    for (let attempt = 0; ; attempt += 1) {
      const { total, idsOf } = await openList(table, filter);
      const [first, last] = ascending
        ? [offset, Math.min(offset + limit, total) - 1]
        : [Math.max(total - offset - limit, 0), total - offset - 1];
      if (last < first) return { total, chats: [] };
      const ids = await idsOf(first, last);
      const items = await Promise.all(ids.map((id) => table.getNamed(keys.chat(filter.workspaceId, id))));
      const chats = items.flatMap((item) => existingChatOf(item) ?? []);
      if (chats.length <= last - first && attempt < rereads) continue;
      return { total, chats: ascending ? chats : chats.reverse() };
    }
  },
});

/** The number of chats in a list, and the ids of the chats number `first` to `last` (from 0, ascending). */
async function openList(
  table: Table,
  { workspaceId, agentId, externalUserId }: ChatFilter,
): Promise<{ total: number; idsOf: (first: number, last: number) => Promise<number[]> }> {
  const list = keys.chatList(workspaceId, { agentId, externalUserId });
  const isOfAll = agentId === undefined && externalUserId === undefined;
  const found = await readHead<number>(table, list);
  const root = found.hasGone ? await readGoneRoot(table, list) : undefined;
  // Chats were created, and deleted, after the head was read.
  const head =
    root !== undefined && root.highest >= found.count ? await readHead<number>(table, list) : found;
  return {
    total: head.count - (root?.total ?? 0),
    async idsOf(first, last) {
      const indexes =
        root === undefined ? listIndexes(first, last) : await livingIndexes(table, head, root, first, last);
      return isOfAll ? indexes.map((index) => index + 1) : readIds(table, head, indexes);
    },
  };
}
