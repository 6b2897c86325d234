import { expect, it } from 'vitest';
import { dynamoChatPages } from '#adapters/dynamo/chats/chat-pages.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';

const workspaceId = 'ws_1';
const list = keys.chatList(workspaceId, {});
const textOf = ({ pk, sk }: Key): string => `${pk}|${sk}`;

/** A store on items in memory, which may change before a read of a key. */
function openPages(count: number) {
  const items = new Map<string, Item>();
  const reads: string[] = [];
  const put = (key: Key, attributes: Item): void => void items.set(textOf(key), { ...key, ...attributes });
  const create = (id: number): void => put(keys.chat(workspaceId, id), { id, agent_id: 'agent' });
  let beforeRead: (sk: string, reads: number) => void = () => undefined;
  const get = async (key: Key): Promise<Item | undefined> => {
    reads.push(key.sk);
    beforeRead(key.sk, reads.filter((sk) => sk === key.sk).length);
    return items.get(textOf(key));
  };
  for (let id = 1; id <= count; id += 1) create(id);
  put(list.head, { count });
  const chats = dynamoChatPages({ get, getNamed: get } as unknown as Table);
  return {
    reads,
    put,
    create,
    onRead: (call: typeof beforeRead) => {
      beforeRead = call;
    },
    /** The tombstone alone, as a read sees a transaction in progress. */
    bury: (id: number) => put(keys.chat(workspaceId, id), { id, deleted_at: 'now' }),
    /** What the transaction of a deletion does to the list: the first chats are gone. */
    mark: (ids: readonly number[]) => {
      put(list.goneRoot, {
        gone: ids.length,
        highest: Math.max(...ids) - 1,
        counts: Buffer.from([ids.length, 0]).toString('base64'),
      });
      const bits = ids.reduce((sum, id) => sum + 2 ** (id - 1), 0);
      put(list.goneLeaf(0), { gone: ids.length, bits: Buffer.from([bits]).toString('base64') });
    },
    page: async (limit: number) => {
      const page = await chats.page({ workspaceId }, { limit, offset: 0, ascending: true });
      return { total: page.total, ids: page.chats.map(({ id }) => id) };
    },
  };
}

it('reads the page again when it meets a chat that was deleted meanwhile', async () => {
  const { bury, mark, onRead, page, put, reads } = openPages(4);
  onRead((sk, times) => {
    if (sk !== 'CHAT' || times > 1) return;
    bury(2);
    mark([2]);
    put(list.head, { count: 4, has_gone: true });
  });
  expect(await page(3)).toEqual({ total: 3, ids: [1, 3, 4] });
  expect(reads.filter((sk) => sk === 'CHATS')).toHaveLength(2);
});

it('leaves a tombstone out after three more reads', async () => {
  const { bury, page, reads } = openPages(4);
  bury(2);
  expect(await page(3)).toEqual({ total: 4, ids: [1, 3] });
  expect(reads.filter((sk) => sk === 'CHATS')).toHaveLength(4);
});

it('reads the head again if a chat was created and deleted after it was read', async () => {
  const { bury, create, mark, onRead, page, put, reads } = openPages(2);
  mark([1]);
  bury(1);
  put(list.head, { count: 2, has_gone: true });
  onRead((sk) => {
    if (sk !== 'GONE#ROOT') return;
    bury(3);
    create(4);
    mark([1, 3]);
    put(list.head, { count: 4, has_gone: true });
  });
  expect(await page(5)).toEqual({ total: 2, ids: [2, 4] });
  expect(reads.filter((sk) => sk === 'CHATS')).toHaveLength(2);
});
