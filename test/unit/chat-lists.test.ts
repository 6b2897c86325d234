import {
  type DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { dynamoChatDeletion } from '#adapters/dynamo/chats/chat-items.ts';
import { dynamoChatPages, dynamoChatStore, dynamoNewChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';
import type { Chat, ChatStore } from '#domain/chats/chat.ts';
import { createThrottle } from '#local/wire/throttle.ts';
import { manualClock } from '#support/manual-clock.ts';
import { MemoryTable, type TableCommand } from '#support/memory-table/memory-table.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';
import { Timeline } from '../simulation/timeline.ts';

const $metadata = {};
const workspaceId = 'ws_1';

type Keyed = { Key?: Keys; Item?: Keys };
type Keys = { pk: { S: string }; sk: { S: string } };
type Writes = { TransactItems?: Record<string, Keyed>[] } & Keyed;

/**
 * The stores on a table with the times of AWS, in virtual time: a transaction takes 20 ms and cancels each other one that
 * meets it, which is billed, and a partition key takes 1,000 write units a second. Clocks differ by 2 s.
 */
function openStores(seed: number) {
  const timeline = new Timeline(seed);
  const memory = new MemoryTable(() => timeline.now);
  const locked = new Set<string>();
  const throttle = createThrottle<string>(() => timeline.now);
  const limit = { perSecond: 1000, burst: 1000 };
  const counts = { units: 0, transactions: 0, cancelled: 0 };

  async function transact(command: TableCommand): Promise<object> {
    const { TransactItems = [] } = command.input as Writes;
    const keys = TransactItems.flatMap((write) => Object.values(write)).map(keyOf);
    const names = keys.map(({ pk, sk }) => `${pk.S} ${sk.S}`);
    const cancel = (Code: string) =>
      new TransactionCanceledException({
        ...{ message: Code, $metadata },
        CancellationReasons: [{ Code }],
      });
    await timeline.sleep(timeline.between(4, 6));
    const taken = keys.map(({ pk }) => throttle.take(pk.S, limit, 2));
    counts.transactions += 1;
    // Those writes of a throttled transaction whose partitions are not throttled are billed too.
    counts.units += 2 * taken.filter((isTaken) => isTaken).length;
    if (taken.includes(false)) {
      counts.cancelled += 1;
      throw cancel('ThrottlingError');
    }
    if (names.some((name) => locked.has(name))) {
      counts.cancelled += 1;
      await timeline.sleep(timeline.between(8, 12));
      throw cancel('TransactionConflict');
    }
    for (const name of names) locked.add(name);
    await timeline.sleep(timeline.between(17, 23));
    for (const name of names) locked.delete(name);
    return memory.execute(command);
  }

  async function send(command: TableCommand): Promise<object> {
    const { name } = command.constructor;
    if (name === 'TransactWriteItemsCommand') return transact(command);
    await timeline.sleep(timeline.between(3, 5));
    if (name === 'UpdateItemCommand') {
      const { pk, sk } = keyOf(command.input as Keyed);
      counts.units += 1;
      throttle.take(pk.S, limit, 1);
      if (locked.has(`${pk.S} ${sk.S}`)) throw new TransactionConflictException({ message: '', $metadata });
    }
    const output = memory.execute(command);
    await timeline.sleep(timeline.between(1, 3));
    return output;
  }

  const table = dynamoTable({ send } as unknown as DynamoDBClient, 'table', (milliseconds) =>
    timeline.sleep(timeline.random() * milliseconds),
  );
  const newClock = () => {
    const skew = timeline.between(-1000, 1000);
    const never = () => () => undefined;
    return { now: () => new Date(timeline.now + skew), after: never, every: never };
  };
  return { timeline, table, counts, newClock };
}

const keyOf = ({ Key, Item }: Keyed): Keys => (Key ?? Item) as Keys;

it('64 creators make at least 300 chats a second in one workspace, each for at most 20 write units', async () => {
  const { timeline, table, counts, newClock } = openStores(1);
  const created: { id: number; at: number }[] = [];
  const end = timeline.now + 4000;
  const creators = Array.from({ length: 64 }, async (_, creator) => {
    const store = dynamoNewChatStore(table, newClock());
    for (let number = 0; timeline.now < end; number += 1) {
      const key = { workspaceId, hash: `key-${creator}-${number}`, fingerprint: 'request', at: timeline.now };
      const newChat = { workspaceId, agentId: 'agent', name: 'A chat', externalUserId: 'user' };
      const chat = await store.createWithKey(newChat, key);
      if (chat !== undefined) created.push({ id: chat.id, at: timeline.now });
    }
  });
  const made = Promise.all(creators);
  await timeline.run(() => false);
  await made;
  const { units, transactions, cancelled } = counts;
  // Partitions begin with the units of a second. After two seconds they are used.
  const rate = created.filter(({ at }) => at > end - 2000 && at <= end).length / 2;
  const each = units / created.length;
  console.log(
    `${rate} chats a second, ${each.toFixed(1)} write units each, ${cancelled} of ${transactions} cancelled`,
  );
  expect(rate).toBeGreaterThanOrEqual(300);
  expect(each).toBeLessThanOrEqual(20);
  expect(new Set(created.map(({ id }) => id)).size).toBe(created.length);
});

const newChat = { workspaceId, agentId: 'agent', name: 'A chat', externalUserId: null };
const deletedAt = '2027-01-31T12:00:00.000Z';

it('a page is read again if one of its chats is deleted meanwhile', async () => {
  const table = openMemoryTable();
  const store = dynamoNewChatStore(table, manualClock());
  const [first, ...others] = [
    await store.create(newChat),
    await store.create(newChat),
    await store.create(newChat),
  ];
  let isDeleted = false;
  const { page } = dynamoChatPages({
    ...table,
    async get(key) {
      if (!isDeleted) await dynamoChatDeletion(table).delete([first], deletedAt);
      isDeleted = true;
      return table.get(key);
    },
  });
  const found = await page({ workspaceId }, { limit: 2, offset: 0, ascending: true });
  expect(found).toMatchObject({ total: 2, chats: others });
});

it.each<[string, (store: ChatStore, chat: Chat) => Promise<unknown>]>([
  ['renamed', (store, chat) => store.change(chat, { name: 'Used' }, '2027-02-01T12:00:00.000Z')],
  ['given a lease', (store, chat) => store.takeOverLease(chat, { id: 'lease-1', until: 1 })],
])('a chat that is %s between the read and the deletion of unused ones stays', async (_what, use) => {
  const table = openMemoryTable();
  const store = dynamoNewChatStore(table, manualClock());
  const [used, unused] = [await store.create(newChat), await store.create(newChat)];
  let isUsed = false;
  const deletion = dynamoChatDeletion({
    ...table,
    async transact(...writes) {
      if (!isUsed) await use(dynamoChatStore(table), used);
      isUsed = true;
      return table.transact(...writes);
    },
  });
  expect(await deletion.deleteUnchanged([used, unused], deletedAt)).toEqual([unused]);
  expect(await dynamoChatStore(table).get(workspaceId, used.id)).toMatchObject({ id: used.id });
});
