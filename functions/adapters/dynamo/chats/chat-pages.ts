import { keys } from '#adapters/dynamo/table/keys.ts';
import { readPage } from '#adapters/dynamo/table/lists.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { ChatPages } from '#domain/chats/chat-store.ts';
import { chatOf } from './chat-item.ts';
import { idsIn } from './chat-writes.ts';

/** A page is read again so often if a chat on it is deleted meanwhile. */
const rereads = 3;

export const dynamoChatPages = (table: Table): ChatPages => ({
  async page({ workspaceId, agentId, externalUserId }, page) {
    const list = keys.chatList(workspaceId, { agentId, externalUserId });
    // The list of an agent and a user is that of the user, filtered. Its counts count each agent.
    const ofAgent = externalUserId === undefined ? undefined : agentId;
    const reading = {
      count: ofAgent ?? 'n',
      numbersIn: (entry: Parameters<typeof idsIn>[0]) => idsIn(entry, ofAgent),
    };
    for (let attempt = 0; ; attempt += 1) {
      const { total, listed, ends } = await readPage(table, list, page, reading);
      const items = await Promise.all(listed.map(({ number }) => table.get(keys.chat(workspaceId, number))));
      if (items.includes(undefined) && attempt < rereads) continue;
      return { total, ends, chats: items.flatMap((item) => (item === undefined ? [] : [chatOf(item)])) };
    }
  },
});
