import { expect, it } from 'vitest';
import { dynamoChatDeletion } from '#adapters/dynamo/chats/chat-deletion.ts';
import { dynamoChatPages } from '#adapters/dynamo/chats/chat-pages.ts';
import { planChats, readChatLists } from '#adapters/dynamo/chats/plan-chats.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Write } from '#adapters/dynamo/table/table.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { manualClock } from '#support/manual-clock.ts';
import { openTable } from '#support/open-table.ts';
import { seededRandom } from '#support/seeded-random.ts';

const { table } = closeAfterTests(await openTable());
const clock = manualClock();
const { page } = dynamoChatPages(table);
const at = '2027-02-01T00:00:00.000Z';

type Version = (write: Write) => Write;
/** Stores `list_indexes`. */
const current: Version = (write) => write;
/** Before chats could be deleted. Apart from `list_indexes`, it wrote what this version writes. */
const beforeDeletions: Version = ({ Put, ...write }) => {
  if (Put === undefined) return write;
  const { list_indexes: _, ...Item } = Put.Item as Item;
  return { ...write, Put: { ...Put, Item } };
};
/** Before lists were updated: it put each head as a whole. */
const beforeUpdates: Version = (write) => {
  const { TableName, Key, ExpressionAttributeValues: values = {} } = write.Update ?? {};
  if (values[':ids'] === undefined) return beforeDeletions(write);
  return { Put: { TableName, Item: { ...Key, count: values[':after'], newest_ids: values[':ids'] } } };
};

async function create(version: Version, newChats: NewChat[]): Promise<Chat[]> {
  const workspaceId = newChats[0]?.workspaceId ?? '';
  const lists = await readChatLists(table, workspaceId, newChats);
  const planned = planChats(
    lists,
    clock,
    newChats.map((newChat) => ({ ...newChat, lease: null })),
  );
  await table.transact((TableName) => planned.writes(TableName).map(version));
  return planned.chats;
}

const remove = async (chat: Chat): Promise<void> =>
  expect(await dynamoChatDeletion(table).delete([chat], at)).toHaveLength(1);

it('pages are exact while an earlier version creates chats too, before and after deletions', async () => {
  const random = seededRandom(1);
  const below = (bound: number): number => Math.floor(random() * bound);
  const workspaceId = 'ws_mixed';
  let living: Chat[] = [];
  const createSome = async (): Promise<void> => {
    const newChats = Array.from({ length: 1 + below(8) }, () => ({
      ...{ workspaceId, name: 'A chat', agentId: `agent-${below(2)}` },
      externalUserId: ['ann', 'bob', null][below(3)] ?? null,
    }));
    living.push(...(await create(below(2) === 0 ? beforeDeletions : current, newChats)));
  };
  for (let round = 0; round < 60; round += 1) {
    await createSome();
    if (round < 5) continue;
    const [gone] = living.splice(below(living.length), 1) as [Chat];
    await remove(gone);
  }
  await createSome();
  for (const filter of [{}, { agentId: 'agent-0' }, { externalUserId: 'ann' }]) {
    const listed = living.filter(
      ({ agentId, externalUserId }) =>
        agentId === (filter.agentId ?? agentId) &&
        externalUserId === (filter.externalUserId ?? externalUserId),
    );
    for (let offset = 0; offset <= listed.length; offset += 40)
      expect(
        await page({ workspaceId, ...filter }, { limit: 40, offset, ascending: true }),
        JSON.stringify({ ...filter, offset }),
      ).toEqual({ total: listed.length, chats: listed.slice(offset, offset + 40) });
  }
  // Also those without indexes can all be deleted.
  for (const chat of living) if (chat.id % 4 === 0) await remove(chat);
  living = living.filter(({ id }) => id % 4 !== 0);
  const all = await page({ workspaceId }, { limit: 1000, offset: 0, ascending: true });
  expect(all).toEqual({ total: living.length, chats: living });
});

it('a version that puts heads makes a list show deleted chats, until the next deletion of the list', async () => {
  const workspaceId = 'ws_put';
  const newChat = { workspaceId, name: 'A chat', agentId: 'agent', externalUserId: null };
  const [first, second, third] = (await create(current, [newChat, newChat, newChat])) as [Chat, Chat, Chat];
  const ofAgent = async () => {
    const found = await page({ workspaceId, agentId: 'agent' }, { limit: 9, offset: 0, ascending: true });
    return [found.total, found.chats.map(({ id }) => id)];
  };
  await remove(first);
  expect(await ofAgent()).toEqual([2, [2, 3]]);
  await create(beforeUpdates, [newChat]);
  expect((await table.get(keys.chatList(workspaceId, { agentId: 'agent' }).head))?.has_gone).toBeUndefined();
  // The count has the deleted chat. Its item is a tombstone, so it is left out.
  expect(await ofAgent()).toEqual([4, [2, 3, 4]]);
  await remove(second);
  expect(await ofAgent()).toEqual([2, [3, 4]]);
  await remove(third);
  expect(await ofAgent()).toEqual([1, [4]]);
});
