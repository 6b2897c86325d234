import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Cursor } from '#contract/pagination.ts';
import type { Chat, ChatFilter } from '#domain/chats/chat.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores, seeds } from '#support/open-stores.ts';
import { seededRandom } from '#support/seeded-random.ts';

const { stores } = closeAfterTests(await openStores());
const { chats } = stores;
const at = '2027-02-01T00:00:00.000Z';

const agents = ['agent-1', 'agent-2'];
const users = [null, 'user-1', 'user-2'];
/** The four kinds of list, and one that stays empty. */
const filters: Omit<ChatFilter, 'workspaceId'>[] = [
  {},
  { agentId: 'agent-1' },
  { externalUserId: 'user-1' },
  { agentId: 'agent-2', externalUserId: 'user-2' },
  { agentId: 'agent-3' },
];

const pageLength = 7;

/** Chats of one workspace beside a model of them. */
function openModel() {
  const workspaceId = `ws_${randomUUID()}`;
  const living = new Map<number, Chat>();
  return {
    workspaceId,
    living,
    async create(agentId: string, externalUserId: string | null): Promise<void> {
      const chat = await chats.create({ workspaceId, agentId, name: 'A chat', externalUserId });
      living.set(chat.id, chat);
    },
    async remove(...removed: Chat[]): Promise<void> {
      expect(await chats.delete(removed, at)).toEqual(removed);
      for (const { id } of removed) living.delete(id);
    },
    listed: (filter: (typeof filters)[number]): Chat[] =>
      [...living.values()]
        .filter((chat) => filter.agentId === undefined || chat.agentId === filter.agentId)
        .filter(
          (chat) => filter.externalUserId === undefined || chat.externalUserId === filter.externalUserId,
        ),
    async checkPage(filter: (typeof filters)[number], offset: number, ascending: boolean): Promise<void> {
      const page = { limit: pageLength, offset, ascending };
      const found = await chats.page({ workspaceId, ...filter }, page);
      const listed = this.listed(filter);
      const ordered = ascending ? listed : listed.reverse();
      const shown = ordered.slice(offset, offset + pageLength);
      const name = JSON.stringify({ ...filter, ...page });
      expect(found, name).toMatchObject({ total: listed.length, chats: shown });
      if (shown.length === 0) return;
      const next = offset + pageLength;
      const [after, before] = [
        { isAfter: true, id: found.ends.last ?? 0, offset: next },
        { isAfter: false, id: found.ends.first ?? 0, offset },
      ];
      const read = (cursor: Cursor, from: number) =>
        chats.page({ workspaceId, ...filter }, { ...page, offset: from, cursor });
      expect(await read(after, next), name).toMatchObject({
        chats: ordered.slice(next, next + pageLength),
        ends: { hasMore: next + pageLength < listed.length },
      });
      if (offset >= pageLength)
        expect((await read(before, offset - pageLength)).chats, name).toEqual(
          ordered.slice(offset - pageLength, offset),
        );
      // With another offset than its own, a cursor is ignored.
      expect(await read({ ...after, offset: next + 1 }, offset), name).toEqual(found);
    },
  };
}

it.each(seeds)('every page has the living chats alone, with the seed %i', async (seed) => {
  const random = seededRandom(seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <Choice>(choices: readonly Choice[]): Choice => choices[below(choices.length)] as Choice;
  const model = openModel();
  for (let created = 0; created < 60; created += 1) {
    await model.create(pick(agents), pick(users));
    if (below(3) === 0 && model.living.size > 0) await model.remove(pick([...model.living.values()]));
    if (below(3) === 0) await model.checkPage(pick(filters), below(created + 1), below(2) === 0);
  }
  for (const filter of filters) {
    // A page that begins more than a page beyond the end is as empty as each after it.
    const end = model.listed(filter).length + pageLength;
    const offsets = [...Array.from({ length: end / 3 }, (_, third) => 3 * third), 300];
    for (const ascending of [true, false])
      for (const offset of offsets) await model.checkPage(filter, offset, ascending);
  }
  // All are deleted, and a list starts anew.
  await model.remove(...model.living.values());
  for (const filter of filters) await model.checkPage(filter, 0, true);
  await model.create('agent-1', 'user-1');
  expect([...model.living.keys()]).toEqual([61]);
  for (const filter of filters)
    for (const ascending of [true, false]) await model.checkPage(filter, 0, ascending);
});

it('twenty chats that are deleted concurrently, with others that are created, leave every list right', async () => {
  const model = openModel();
  for (let created = 0; created < 40; created += 1) await model.create('agent-1', 'user-1');
  const deleted = [...model.living.values()].filter(({ id }) => id % 2 === 0);
  await Promise.all([
    ...deleted.map((chat) => model.remove(chat)),
    ...deleted.map(() => model.create('agent-1', 'user-1')),
  ]);
  const ids = [...model.living.values()].sort((one, other) => one.id - other.id);
  model.living.clear();
  for (const chat of ids) model.living.set(chat.id, chat);
  for (const filter of filters)
    for (const offset of [0, 7, 35, 40]) await model.checkPage(filter, offset, true);
});

it('many chats are deleted as few together, each once, also if other calls delete some of them', async () => {
  const model = openModel();
  for (let created = 0; created < 60; created += 1)
    await model.create(`agent-${created % 2 === 0 ? 0 : created}`, 'user-1');
  const all = [...model.living.values()];
  const results = await Promise.all([
    chats.delete(all.slice(0, 40), at),
    chats.delete(all.slice(20, 55), at),
    chats.delete(all.slice(30, 32), at),
  ]);
  expect(
    results
      .flat()
      .map(({ id }) => id)
      .sort((one, other) => one - other),
  ).toEqual(all.slice(0, 55).map(({ id }) => id));
  for (const { id } of all.slice(0, 55)) model.living.delete(id);
  for (const filter of filters) await model.checkPage(filter, 0, true);
});

it('a chat is deleted once, also by many at the same time', async () => {
  const { workspaceId, create, living } = openModel();
  await create('agent-1', 'user-1');
  await create('agent-1', 'user-1');
  const chat = living.get(1) as Chat;
  const results = await Promise.all(Array.from({ length: 10 }, () => chats.delete([chat], at)));
  expect(results.flat()).toEqual([chat]);
  expect(await chats.delete([chat], at)).toEqual([]);
  expect(await chats.delete([{ ...chat, id: 3 }], at)).toEqual([]);
  const { total } = await chats.page({ workspaceId }, { limit: 1, offset: 0, ascending: true });
  expect(total).toBe(1);
});

it('a deleted chat is no chat for any method, and nothing brings it back', async () => {
  const { workspaceId, create, living } = openModel();
  await create('agent-1', null);
  const chat = living.get(1) as Chat;
  const lease = { id: 'lease-1', until: 1 };
  const request = { workspaceId, chatId: 1, agentId: 'agent-1', externalUserId: undefined, lease, now: at };
  await chats.takeLease(request);
  const leased = { ...chat, lease };
  expect(await chats.delete([leased], at)).toHaveLength(1);
  expect(await chats.get(workspaceId, 1)).toBeUndefined();
  for (const risen of [{ name: 'Risen' }, { metadata: {} }])
    expect(await chats.change(chat, risen, at)).toEqual({ isDone: false, chat: undefined });
  const other = { ...lease, id: 'lease-2' };
  expect(await chats.takeLease({ ...request, lease: other })).toMatchObject({
    taken: false,
    chat: undefined,
  });
  expect(await chats.takeOverLease(leased, other)).toBe(false);
  expect(await chats.takeOverLease(chat, other)).toBe(false);
  expect(await chats.renewLease(chat, lease.id, 2)).toBe(false);
  expect(await chats.stopLease(chat, lease.id, 2)).toBe(false);
  await chats.acknowledgeStop(chat, lease.id, 2);
  expect(await chats.releaseLease(chat, lease.id, 2)).toBe(false);
  const feedback = { externalUserId: 'ann', type: 'sys_helpful', content: null, createdAt: at } as const;
  expect(await stores.feedback.record(chat, 2, feedback)).toBe(false);
  expect(
    await stores.messages.putAndRelease(chat, lease.id, {
      ...{ role: 'user', position: 1, content: 'Hi', attachments: [], createdAt: at },
    }),
  ).toBe('lease-lost');
  expect(await chats.get(workspaceId, 1)).toBeUndefined();
  expect((await chats.page({ workspaceId }, { limit: 1, offset: 0, ascending: true })).total).toBe(0);
});

it.each<[string, (chat: Chat) => Promise<unknown>]>([
  ['that was renamed', (chat) => chats.change(chat, { name: 'Renamed' }, at)],
  ['that got metadata', (chat) => chats.change(chat, { metadata: { a: 'b' } }, at)],
  ['of which a send has the lease', (chat) => lease(chat)],
  [
    'whose messages were counted',
    async (chat) => {
      await lease(chat);
      await chats.releaseLease(chat, 'lease-1', 2);
    },
  ],
])('a chat %s since it was read is not deleted as an unchanged one, and its neighbour is', async (_, use) => {
  const newChat = {
    workspaceId: `ws_${randomUUID()}`,
    agentId: 'agent-1',
    name: 'A chat',
    externalUserId: null,
  };
  const [used, unused] = [await chats.create(newChat), await chats.create(newChat)];
  await use(used);
  const before = await chats.get(used.workspaceId, used.id);
  expect(await chats.deleteUnchanged([used, unused], at)).toEqual([unused]);
  expect(await chats.get(used.workspaceId, used.id)).toEqual(before);
  expect(await chats.deleteUnchanged([before as Chat], at)).toEqual([before]);
  expect(await chats.deleteUnchanged([before as Chat, unused], at)).toEqual([]);
});

const lease = (chat: Chat) =>
  chats.takeLease({
    ...{ workspaceId: chat.workspaceId, chatId: chat.id, agentId: chat.agentId, externalUserId: undefined },
    ...{ lease: { id: 'lease-1', until: 1 }, now: chat.updatedAt },
  });
