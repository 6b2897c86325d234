import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { sampleBatch, sampleRequest } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { chats, chatUses, workspaces } = stores;
const at = '2027-02-01T00:00:00.000Z';
const time = (number: number): string => `2027-01-0${number}T00:00:00.000Z`;

const openWorkspace = async (retentionDays: number | null = null): Promise<string> => {
  const id = `ws_${randomUUID()}`;
  await workspaces.put({
    ...{
      id,
      name: 'A workspace',
      enabled: true,
      whitelistEnabled: false,
      titlesEnabled: true,
      openAiEnabled: false,
    },
    ...{ limits: 'default', ownLimits: {}, retentionDays, createdAt: at },
  });
  return id;
};
const create = (workspaceId: string): Promise<Chat> =>
  chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
const usesBefore = async (workspaceId: string, before: string) =>
  (await Array.fromAsync(chatUses.before(workspaceId, before, 100))).flat();

it('lists the workspaces with retention, as they were changed last', async () => {
  const [one, other, third] = [await openWorkspace(), await openWorkspace(7), await openWorkspace(30)];
  const listed = async () =>
    (await chatUses.workspaces()).filter(({ workspaceId }) => [one, other, third].includes(workspaceId));
  expect(await listed()).toHaveLength(2);
  expect(await workspaces.update(one, { retentionDays: 1 })).toMatchObject({ retentionDays: 1 });
  expect(await workspaces.update(other, { retentionDays: null })).toMatchObject({ retentionDays: null });
  await workspaces.update(third, { titlesEnabled: false });
  expect(await listed()).toEqual(
    [
      { workspaceId: one, days: 1 },
      { workspaceId: third, days: 30 },
    ].sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1)),
  );
  expect(await workspaces.get(other)).toMatchObject({ retentionDays: null });
});

it('adds each chat once, and deleted ones not at all', async () => {
  const workspaceId = await openWorkspace();
  expect(await chatUses.notAdded(workspaceId, 5)).toEqual([]);
  const [first, second, third] = [
    await create(workspaceId),
    await create(workspaceId),
    await create(workspaceId),
  ];
  await chats.delete([second], at);
  const all = [
    { chatId: 1, chat: first },
    { chatId: 3, chat: third },
  ];
  expect(await chatUses.notAdded(workspaceId, 5)).toEqual(all);
  expect(await chatUses.notAdded(workspaceId, 1)).toEqual(all.slice(0, 1));
  await chatUses.add(workspaceId, [{ chatId: 1, lastUse: time(1) }], 2);
  expect(await chatUses.notAdded(workspaceId, 5)).toEqual(all.slice(1));
  // Another run that is behind.
  await chatUses.add(workspaceId, [{ chatId: 1, lastUse: time(1) }], 1);
  expect(await chatUses.notAdded(workspaceId, 5)).toEqual(all.slice(1));
  expect(await usesBefore(workspaceId, time(2))).toEqual([{ chatId: 1, lastUse: time(1) }]);
});

it('lists the uses before a time in pages, the first ones first, and moves and removes them', async () => {
  const workspaceId = await openWorkspace();
  const uses = [3, 1, 2, 4].map((number) => ({ chatId: 10 + number, lastUse: time(number) }));
  await chatUses.add(workspaceId, uses, 14);
  const listed = (number: number) => usesBefore(workspaceId, time(number));
  expect(await listed(4)).toEqual(uses.slice(0, 3).toSorted((one, other) => one.chatId - other.chatId));
  const pages = await Array.fromAsync(chatUses.before(workspaceId, time(4), 2));
  expect(pages.filter(({ length }) => length > 0).map(({ length }) => length)).toEqual([2, 1]);
  await chatUses.replace(workspaceId, [
    { use: { chatId: 11, lastUse: time(1) }, lastUse: time(5) },
    { use: { chatId: 12, lastUse: time(2) }, lastUse: null },
  ]);
  expect(await listed(9)).toEqual([
    { chatId: 13, lastUse: time(3) },
    { chatId: 14, lastUse: time(4) },
    { chatId: 11, lastUse: time(5) },
  ]);
});

it('knows the chats that requests of open batches are for', async () => {
  const workspaceId = await openWorkspace();
  expect(await chatUses.inOpenBatches(workspaceId, [1, 2])).toEqual(new Set());
  const batch = sampleBatch(clock.now(), { workspaceId, total: 2 });
  const requests = [sampleRequest(0), sampleRequest(1, { historyId: 2 })];
  await stores.batches.create(batch, requests, null);
  expect(await chatUses.inOpenBatches(workspaceId, [1, 2])).toEqual(new Set([2]));
  expect(await chatUses.inOpenBatches(workspaceId, [1])).toEqual(new Set());
  expect(await chatUses.inOpenBatches(workspaceId, [])).toEqual(new Set());
  const final = { status: 'completed', completed: 2, failed: 0, completedAt: at, cancelledAt: null } as const;
  expect(await stores.batches.complete(batch, final, null)).toBe(true);
  expect(await chatUses.inOpenBatches(workspaceId, [1, 2])).toEqual(new Set());
});

it.each<[string, (chat: Chat) => Promise<unknown>]>([
  ['that was renamed', (chat) => chats.rename(chat, 'Renamed', at)],
  ['of which a send has the lease', (chat) => lease(chat)],
  [
    'whose messages were counted',
    async (chat) => {
      await lease(chat);
      await chats.releaseLease(chat, 'lease-1', 2);
    },
  ],
])('a chat %s since it was read is not deleted as an unchanged one, and its neighbour is', async (_, use) => {
  const workspaceId = await openWorkspace();
  const [used, unused] = [await create(workspaceId), await create(workspaceId)];
  await use(used);
  const before = await chats.get(workspaceId, used.id);
  expect(await chats.deleteUnchanged([used, unused], at)).toEqual([unused]);
  expect(await chats.get(workspaceId, used.id)).toEqual(before);
  expect(await chats.deleteUnchanged([before as Chat], at)).toEqual([before]);
  expect(await chats.deleteUnchanged([before as Chat, unused], at)).toEqual([]);
});

const lease = (chat: Chat) =>
  chats.takeLease({
    ...{ workspaceId: chat.workspaceId, chatId: chat.id, agentId: chat.agentId, externalUserId: undefined },
    ...{ lease: { id: 'lease-1', until: 1 }, now: chat.updatedAt },
  });
