import {
  type DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { dynamoChatDeletion, planChats } from '#adapters/dynamo/chats/chat-items.ts';
import { dynamoChatPages, dynamoNewChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';
import type { Cursor, ListPage } from '#contract/pagination.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { createThrottle } from '#local/wire/throttle.ts';
import { MemoryTable, type TableCommand } from '#support/memory-table/memory-table.ts';
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

const pages = Number(process.env.PAGES ?? 1000);
const agents = ['agent-1', 'agent-2'];
const users = [null, 'user-1', 'user-2'];
const filters = [
  {},
  { agentId: 'agent-1' },
  { externalUserId: 'user-1' },
  { agentId: 'agent-2', externalUserId: 'user-2' },
];

it('random pages are right while others create and delete', async () => {
  const { timeline, table, newClock } = openStores(2);
  /** Chats that exist, and those of which a creation or a deletion is under way. */
  const living = new Map<number, Chat>();
  const uncertain = new Map<number, Chat>();
  let changes = 0;
  const { page } = dynamoChatPages(table);
  const deletion = dynamoChatDeletion(table);
  let isOver = false;

  async function write(): Promise<void> {
    const store = dynamoNewChatStore(table, newClock());
    const clock = newClock();
    while (!isOver) {
      changes += 1;
      const newChat = () => ({
        ...{
          workspaceId,
          name: 'A chat',
          agentId: timeline.pick(agents),
          externalUserId: timeline.pick(users),
        },
      });
      if (timeline.chance(0.45) && living.size > 40) {
        const gone = Array.from({ length: 1 + timeline.below(3) }, () => timeline.pick([...living.values()]));
        for (const chat of gone) {
          living.delete(chat.id);
          uncertain.set(chat.id, chat);
        }
        await deletion.delete([...new Set(gone)], '2027-01-31T12:00:00.000Z');
        for (const chat of gone) uncertain.delete(chat.id);
      } else {
        const few = Array.from({ length: timeline.chance(0.7) ? 1 : 2 + timeline.below(20) }, () => ({
          ...newChat(),
          lease: null,
        }));
        const [single] = few;
        if (few.length === 1 && single !== undefined) {
          const chat = await store.create(single);
          living.set(chat.id, chat);
        } else {
          const planned = await planChats(table, clock, few);
          for (const chat of planned.chats) uncertain.set(chat.id, chat);
          const isDone = await table.transact(planned.writes).then(
            () => true,
            () => false,
          );
          for (const chat of planned.chats) {
            uncertain.delete(chat.id);
            if (isDone) living.set(chat.id, chat);
          }
        }
      }
      changes += 1;
      await timeline.sleep(timeline.between(0, 400));
    }
  }
  let [exact, checked] = [0, 0];

  async function read(): Promise<void> {
    while (checked < pages) {
      const filter = timeline.pick(filters);
      const limit = timeline.pick([1, 3, 7, 50]);
      const ascending = timeline.chance(0.5);
      let query: ListPage = { limit, ascending, offset: timeline.below(living.size + 10) };
      for (let followed = 0; followed < 4; followed += 1) {
        const before = idsOf(living, filter, ascending);
        const start = changes;
        const wasUncertain = uncertain.size > 0;
        const { total, chats, ends } = await page({ workspaceId, ...filter }, query);
        checked += 1;
        const found = chats.map(({ id }) => id);
        const after = new Set(idsOf(living, filter, ascending));
        checkPage(query, found, { before, after, isCalm: changes === start && !wasUncertain, total });
        if (changes === start && !wasUncertain) exact += 1;
        const cursor = nextCursor(query, ends, timeline.chance(0.6));
        if (cursor === undefined) break;
        query = { ...query, ...cursor };
      }
      await timeline.sleep(timeline.between(0, 20));
    }
    isOver = true;
  }

  const all = Promise.all([write(), write(), write(), read(), read()]);
  await timeline.run(() => false);
  await all;
  console.log(`${checked} pages, ${exact} of them undisturbed; ${living.size} chats at the end`);
  expect(exact).toBeGreaterThan(pages / 10);
});

const matches = (chat: Chat, filter: { agentId?: string; externalUserId?: string }): boolean =>
  (filter.agentId ?? chat.agentId) === chat.agentId &&
  (filter.externalUserId ?? chat.externalUserId) === chat.externalUserId;

function idsOf(
  living: ReadonlyMap<number, Chat>,
  filter: (typeof filters)[number],
  ascending: boolean,
): number[] {
  const ids = [...living.values()].filter((chat) => matches(chat, filter)).map(({ id }) => id);
  return ids.sort((one, other) => (ascending ? one - other : other - one));
}

function nextCursor(
  { limit, offset }: ListPage,
  { first, last }: { first: number | null; last: number | null },
  isForward: boolean,
): { offset: number; cursor: Cursor } | undefined {
  if (first === null || last === null) return undefined;
  const next = offset + limit;
  if (isForward) return { offset: next, cursor: { isAfter: true, id: last, offset: next } };
  return offset < limit
    ? undefined
    : { offset: offset - limit, cursor: { isAfter: false, id: first, offset } };
}

/** An undisturbed page equals brute force. Any other one has, in order, what existed all the time after or before its cursor. */
function checkPage(
  { limit, offset, ascending, cursor }: ListPage,
  found: number[],
  list: { before: number[]; after: ReadonlySet<number>; isCalm: boolean; total: number },
): void {
  const isBefore = (one: number, other: number): boolean => (ascending ? one < other : one > other);
  const sorted = found.toSorted((one, other) => (isBefore(one, other) ? -1 : 1));
  expect(found).toEqual(sorted);
  const nextTo = list.before.filter(
    (id) => cursor === undefined || (cursor.isAfter ? isBefore(cursor.id, id) : isBefore(id, cursor.id)),
  );
  if (list.isCalm) {
    const from = cursor === undefined ? offset : cursor.isAfter ? 0 : Math.max(nextTo.length - limit, 0);
    expect(found).toEqual(nextTo.slice(from, from + limit));
    expect(list.total).toBe(list.before.length);
    return;
  }
  if (cursor === undefined) return;
  const kept = nextTo.filter((id) => list.after.has(id));
  const shown = new Set(found);
  const [first, last] = [found[0], found.at(-1)];
  const missing = kept.filter(
    (id) =>
      !shown.has(id) &&
      (found.length < limit ||
        (cursor.isAfter
          ? last !== undefined && isBefore(id, last)
          : first !== undefined && isBefore(first, id))),
  );
  expect(missing).toEqual([]);
}
