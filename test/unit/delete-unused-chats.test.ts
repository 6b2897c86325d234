import { beforeEach, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { exportChats } from '#domain/chats/history.ts';
import type { Erasure, Purge } from '#domain/chats/purge.ts';
import { deleteUnusedChats } from '#domain/erasure/delete-unused-chats.ts';
import { dynamoStores } from '#support/dynamo-stores.ts';
import { type ManualClock, manualClock } from '#support/manual-clock.ts';
import { sampleWorkspace } from '#support/memory-chat.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';
import type { Stores } from '#support/open-stores.ts';
import { sampleBatch, sampleRequest } from '#support/sample-batches.ts';

const [hour, day] = [3_600_000, 86_400_000];
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let clock: ManualClock;
let stores: Stores;
let queue: (Purge | Erasure)[];
let purgeQueue: { send(purges: readonly (Purge | Erasure)[]): Promise<void> };
beforeEach(async () => {
  clock = manualClock();
  stores = dynamoStores(openMemoryTable(), { clock, actor: () => 'tester' });
  queue = [];
  purgeQueue = { send: async (purges) => void queue.push(...purges) };
});

const run = () =>
  deleteUnusedChats({
    ...{ chatDeletion: stores.chats, chatPages: stores.chats, retention: stores.retention },
    ...{ clock, log: silent, purgeQueue },
  });
const runsOf = async (hours: number): Promise<number> => {
  let deleted = 0;
  for (let past = 0; past < hours; past += 1) {
    deleted += (await run()).chats;
    await clock.advance(hour);
  }
  return deleted;
};
const open = (id: string, retentionDays: number | null) =>
  stores.workspaces.put(sampleWorkspace(id, clock.now().toISOString(), { retentionDays }));
const retain = (id: string, retentionDays: number | null) => stores.workspaces.update(id, { retentionDays });
const create = (workspaceId: string, externalUserId: string | null = null): Promise<Chat> =>
  stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId });
const createMany = async (workspaceId: string, count: number): Promise<void> => {
  for (let created = 0; created < count; created += 1) await create(workspaceId);
};
const use = (chat: Chat) => stores.chats.change(chat, { name: 'Used' }, clock.now().toISOString());
const existing = async (workspaceId: string): Promise<number[]> => {
  const page = await stores.chats.page({ workspaceId }, { limit: 1000, offset: 0, ascending: true });
  return page.chats.map(({ id }) => id);
};
const none = { chats: 0, failures: 0 };

it('deletes chats a millisecond after N days without a use, and none of a workspace without retention', async () => {
  await open('ws_1', 2);
  await open('ws_2', null);
  const [unused, used] = [await create('ws_1'), await create('ws_1'), await create('ws_2')];
  await clock.advance(day);
  await use(used);
  await clock.advance(day);
  expect([await run(), queue]).toEqual([none, []]);
  await clock.advance(1);
  await retain('ws_1', 2);
  expect([await run(), await existing('ws_1'), await existing('ws_2')]).toEqual([
    { chats: 1, failures: 0 },
    [used.id],
    [1],
  ]);
  const deletedAt = clock.now().toISOString();
  expect(queue).toEqual([{ workspaceId: 'ws_1', chatId: unused.id, deletedAt }]);
});

it('passes once a day, so that an unused chat goes within a day, whatever the days were before', async () => {
  await open('ws_1', 5);
  const chat = await create('ws_1');
  expect(await runsOf(5 * 24)).toBe(0);
  await use(chat);
  expect(await runsOf(3 * 24)).toBe(0);
  await retain('ws_1', null);
  expect(await run()).toEqual(none);
  await retain('ws_1', 4);
  expect(await runsOf(24)).toBe(0);
  await clock.advance(2);
  expect(await runsOf(24)).toBe(1);
  await create('ws_1');
  expect(await runsOf(3 * 24)).toBe(0);
  // A change begins a pass at once.
  await retain('ws_1', 2);
  expect(await run()).toEqual({ chats: 1, failures: 0 });
});

it('leaves a chat with a running reply, the lease or a request of a batch, and deletes one whose function died', async () => {
  await open('ws_1', 1);
  const leased = async (id: string, until: number): Promise<Chat> => {
    const chat = await create('ws_1');
    const request = {
      workspaceId: 'ws_1',
      chatId: chat.id,
      agentId: chat.agentId,
      externalUserId: undefined,
    };
    await stores.chats.takeLease({ ...request, lease: { id, until }, now: clock.now().toISOString() });
    return chat;
  };
  const now = clock.now().getTime();
  const running = await leased('running', now + 4 * day);
  const ofBatch = await leased('batch:b:0', now + 1000);
  await leased('dead', now + 1000);
  const history = await create('ws_1');
  const batch = sampleBatch(clock.now(), { workspaceId: 'ws_1', total: 1 });
  await stores.batches.create(batch, [sampleRequest(0, { historyId: history.id })], null, null);
  await clock.advance(2 * day);
  expect(await runsOf(24)).toBe(1);
  expect(await existing('ws_1')).toEqual([running.id, ofBatch.id, history.id]);
  await stores.chats.releaseLease(ofBatch, 'batch:b:0', 0);
  const final = { status: 'completed', completed: 1, failed: 0, completedAt: '', cancelledAt: null } as const;
  expect(await stores.batches.complete(batch, final, null)).toBe(true);
  expect(await runsOf(24)).toBe(2);
  expect(await runsOf(24)).toBe(1);
});

it('lets workspaces take turns, stops after four minutes, and goes on in the next run', async () => {
  const ids = Array.from({ length: 10 }, (_, index) => `ws_${index}`);
  for (const id of ids) {
    await open(id, 1);
    await createMany(id, 300);
  }
  await clock.advance(2 * day);
  const { deleteUnchanged } = stores.chats;
  stores.chats.deleteUnchanged = async (...input) => {
    await clock.advance(15_000);
    return deleteUnchanged(...input);
  };
  expect(await run()).toMatchObject({ failures: 0 });
  const left = await Promise.all(ids.map(async (id) => (await existing(id)).length));
  // Each had a turn before one had its last.
  for (const count of left) expect(count).toBeLessThan(300);
  expect(Math.max(...left)).toBeGreaterThan(0);
  while ((await run()).chats > 0);
  expect(await Promise.all(ids.map(existing))).toEqual(ids.map(() => []));
  expect(queue).toHaveLength(3000);
});

it('starts with the workspaces that have waited longest, after some ten thousand deletions in a run', async () => {
  for (let index = 0; index < 60; index += 1) await open(`ws_${index}`, 1);
  const chat = await create('ws_0');
  await clock.advance(2 * day);
  const turns: string[] = [];
  // Lists that never end.
  stores.chats.page = async ({ workspaceId }, { limit }) => {
    turns.push(workspaceId);
    await clock.advance(10);
    const chats = Array.from({ length: limit }, () => ({ ...chat, workspaceId }));
    return { total: 0, chats, ends: { hasMore: true, first: 1, last: 1 } };
  };
  stores.chats.deleteUnchanged = async (chats) => [...chats];
  const { chats } = await run();
  expect(chats).toBeGreaterThanOrEqual(10_000);
  expect(chats).toBeLessThan(10_000 + 8 * 250);
  const served = new Set(turns.slice(60));
  turns.length = 0;
  await clock.advance(hour);
  await run();
  const missed = Array.from({ length: 60 }, (_, index) => `ws_${index}`).filter((id) => !served.has(id));
  expect(new Set(turns.slice(0, missed.length))).toEqual(new Set(missed));
});

it('goes on with other workspaces after a failure in one, and reports it', async () => {
  for (const id of ['ws_1', 'ws_2']) {
    await open(id, 1);
    await createMany(id, 2);
  }
  await clock.advance(2 * day);
  const { deleteUnchanged } = stores.chats;
  stores.chats.deleteUnchanged = async (chats, at) => {
    if (chats[0]?.workspaceId === 'ws_1') throw new Error('The table is down');
    return deleteUnchanged(chats, at);
  };
  expect(await run()).toEqual({ chats: 2, failures: 1 });
  expect([await existing('ws_1'), await existing('ws_2')]).toEqual([[1, 2], []]);
  stores.chats.deleteUnchanged = deleteUnchanged;
  expect(await run()).toEqual({ chats: 2, failures: 0 });
});

it('loses no chat if a run dies after the deletion: the next one goes on, and the outbox has the purge', async () => {
  await open('ws_1', 1);
  await createMany('ws_1', 3);
  await clock.advance(2 * day);
  const { send } = purgeQueue;
  purgeQueue.send = () => Promise.reject(new Error('The process died'));
  expect(await run()).toEqual({ chats: 0, failures: 1 });
  expect(await existing('ws_1')).toEqual([2, 3]);
  purgeQueue.send = send;
  expect(await run()).toEqual({ chats: 2, failures: 0 });
  expect((await Array.fromAsync(stores.purgeOutbox.pages('2028'))).flat()).toHaveLength(3);
});

it('starts again if the days are changed while a page is deleted, and ends if the workspace is deleted', async () => {
  await open('ws_1', 3);
  await createMany('ws_1', 3);
  await clock.advance(4 * day);
  const { deleteUnchanged } = stores.chats;
  const interrupt = (work: () => Promise<unknown>) => {
    stores.chats.deleteUnchanged = async (...input) => {
      stores.chats.deleteUnchanged = deleteUnchanged;
      await work();
      return deleteUnchanged(...input);
    };
  };
  interrupt(() => retain('ws_1', 2));
  expect([await run(), await existing('ws_1')]).toEqual([{ chats: 1, failures: 0 }, [2, 3]]);
  interrupt(() => retain('ws_1', null));
  expect([await run(), await existing('ws_1')]).toEqual([{ chats: 1, failures: 0 }, [3]]);
  expect([await run(), await stores.retention.walks()]).toEqual([none, []]);
});

it.each([undefined, 'ann'])('an export of %s has each chat that deletions meanwhile leave', async (user) => {
  await open('ws_1', null);
  const chats: Chat[] = [];
  for (let created = 0; created < 250; created += 1) chats.push(await create('ws_1', user));
  const exported: number[] = [];
  const services = { chatPages: stores.chats, chats: stores.chats, clock, messages: stores.messages };
  const files = { address: () => expect.unreachable() };
  const given = { workspaceId: 'ws_1', externalUserId: user };
  for await (const [line] of exportChats({ ...services, files }, given)) {
    exported.push(Number(line?.type === 'chat' && line.id));
    if (exported.length === 60) await stores.chats.delete(chats.slice(0, 50), clock.now().toISOString());
  }
  expect(exported).toEqual(chats.map(({ id }) => id));
});
