import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Chat, ChatFilter, Lease, LeaseRequest, NewChat } from '#domain/chats/chat.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { replyMessage, userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { chats } = stores;

const newWorkspace = (): string => `ws_${randomUUID()}`;
const newChat = (workspaceId: string, changes: Partial<NewChat> = {}): NewChat => ({
  ...{ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null },
  ...changes,
});
const idsOf = (found: readonly Chat[]): number[] => found.map(({ id }) => id);
const idsTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe('a new chat', () => {
  it('has the next id of its workspace, and is stored as it is returned', async () => {
    const workspaceId = newWorkspace();
    const first = await chats.create(newChat(workspaceId));
    const now = clock.now().toISOString();
    expect(first).toEqual({
      ...{ id: 1, workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null },
      ...{ createdAt: now, updatedAt: now, messageCount: 0, lease: null },
    });
    const second = await chats.create(newChat(workspaceId, { externalUserId: 'user#1', name: '名前😀' }));
    expect(second).toMatchObject({ id: 2, externalUserId: 'user#1', name: '名前😀' });
    expect(await chats.get(workspaceId, 1)).toEqual(first);
    expect(await chats.get(workspaceId, 2)).toEqual(second);
    expect(await chats.get(workspaceId, 3)).toBeUndefined();
  });

  it('is never older than the chat before it, although clocks of functions differ', async () => {
    const workspaceId = newWorkspace();
    const first = await chats.create(newChat(workspaceId));
    await clock.advance(-1000);
    const second = await chats.create(newChat(workspaceId));
    expect(second).toMatchObject({ createdAt: first.createdAt, updatedAt: first.createdAt });
    await clock.advance(1001);
    const third = await chats.create(newChat(workspaceId));
    expect(Date.parse(third.createdAt)).toBe(Date.parse(first.createdAt) + 1);
  });
});

describe('a chat with an idempotency key', () => {
  const keyOf = (workspaceId: string, hash = 'key'): IdempotencyKey => ({
    ...{ workspaceId, hash, fingerprint: 'request' },
    at: clock.now().getTime(),
  });

  it('is not created if the key is in use, while others are created at the same time', async () => {
    const workspaceId = newWorkspace();
    const inUse = keyOf(workspaceId, 'in use');
    await stores.idempotency.store(inUse, { is: 'batch', batchId: 'batch-1' });
    const created = await Promise.all(
      idsTo(60).map((number) =>
        chats.createWithKey(
          newChat(workspaceId, { name: `chat ${number}`, externalUserId: `user-${number % 7}` }),
          number % 10 === 0 ? inUse : keyOf(workspaceId, `key ${number}`),
        ),
      ),
    );
    const refused = idsTo(60).filter((number) => created[number - 1] === undefined);
    expect(refused).toEqual([10, 20, 30, 40, 50, 60]);
    const existing = created.filter((chat) => chat !== undefined);
    expect(new Set(idsOf(existing)).size).toBe(54);
    const ofUser = { workspaceId, externalUserId: 'user-3' };
    expect((await chats.page(ofUser, { limit: 100, offset: 0, ascending: true })).chats).toEqual(
      existing
        .filter(({ externalUserId }) => externalUserId === 'user-3')
        .sort((one, other) => one.id - other.id),
    );
  });
});

describe('a page of chats', () => {
  const workspaceId = newWorkspace();
  /** Of 130 chats, every third belongs to user-1, every tenth to agent-2. */
  const all = idsTo(130).map((id) =>
    newChat(workspaceId, {
      agentId: id % 10 === 0 ? 'agent-2' : 'agent-1',
      externalUserId: id % 3 === 0 ? 'user-1' : null,
    }),
  );
  beforeAll(async () => {
    for (const chat of all) await chats.create(chat);
  });

  const pageOf = async (
    filter: Omit<ChatFilter, 'workspaceId'>,
    limit: number,
    offset: number,
    ascending = true,
  ) => {
    const { total, chats: found } = await chats.page(
      { workspaceId, ...filter },
      { limit, offset, ascending },
    );
    return { total, ids: idsOf(found) };
  };

  it.each([
    {},
    { agentId: 'agent-1' },
    { agentId: 'agent-2' },
    { externalUserId: 'user-1' },
    { agentId: 'agent-2', externalUserId: 'user-1' },
    { agentId: 'agent-3' },
    { externalUserId: 'user-2' },
    { agentId: 'agent-3', externalUserId: 'user-1' },
  ])('has the chats of %o alone', async (filter) => {
    const ids = all
      .map((chat, index) => ({ ...chat, id: index + 1 }))
      .filter((chat) => Object.entries(filter).every(([name, value]) => chat[name as 'agentId'] === value))
      .map(({ id }) => id);
    const total = ids.length;
    for (const [limit, offset] of [
      [1000, 0],
      [4, 2],
      [4, 98],
      [117, 0],
      [1, 117],
      [3, 99],
      [3, 127],
      [3, 128],
      [3, 130],
      [3, 1000],
    ] as const) {
      const end = offset + limit;
      expect(await pageOf(filter, limit, offset)).toEqual({ total, ids: ids.slice(offset, end) });
      expect(await pageOf(filter, limit, offset, false)).toEqual({
        total,
        ids: ids.toReversed().slice(offset, end),
      });
    }
  });

  it('a title names a chat until it is renamed', async () => {
    const own = newWorkspace();
    const chat = await chats.create(newChat(own));
    const nameAfter = async (isChanged: Promise<unknown>) => [
      await isChanged,
      (await chats.get(own, chat.id))?.name,
    ];
    const at = '2027-02-01T00:00:00.000Z';
    expect(await nameAfter(chats.setTitle(chat, 'A title', at))).toEqual([true, 'A title']);
    expect((await chats.get(own, chat.id))?.updatedAt).toBe(at);
    expect(await nameAfter(chats.setTitle(chat, 'Another', at))).toEqual([true, 'Another']);
    expect(await nameAfter(chats.change(chat, { name: 'Mine' }, at))).toEqual([{ isDone: true }, 'Mine']);
    expect(await nameAfter(chats.setTitle(chat, 'Too late', at))).toEqual([false, 'Mine']);
    expect(await nameAfter(chats.change(chat, { name: 'Mine again' }, at))).toEqual([
      { isDone: true },
      'Mine again',
    ]);
    expect(await chats.setTitle({ ...chat, id: 99 }, 'Of no chat', at)).toBe(false);
  });

  it('metadata replaces what was read, and nothing that was stored meanwhile', async () => {
    const own = newWorkspace();
    const [plain, chat] = [
      await chats.create(newChat(own)),
      await chats.create(newChat(own, { metadata: { colour: 'red', 'ключ 😀': '' } })),
    ];
    expect(plain).not.toHaveProperty('metadata');
    expect(await chats.get(own, chat.id)).toEqual(chat);
    const at = '2027-02-01T00:00:00.000Z';
    const set = (read: Chat, metadata: Chat['metadata'], name?: string) =>
      chats.change(read, { metadata, name }, at);
    for (const read of [plain, chat]) {
      expect(await set(read, { colour: 'blue' })).toEqual({ isDone: true });
      const now = { ...read, metadata: { colour: 'blue' }, updatedAt: at };
      expect(await set(read, { colour: 'green' }, 'Lost')).toEqual({ isDone: false, chat: now });
      expect(await chats.get(own, read.id)).toEqual(now);
      expect(await set(now, {}, 'Mine')).toEqual({ isDone: true });
      expect(await chats.setTitle(read, 'Too late', at)).toBe(false);
      const { metadata, ...others } = now;
      expect(await chats.get(own, read.id)).toEqual({ ...others, name: 'Mine' });
    }
    expect(await set({ ...chat, id: 99 }, { colour: 'red' })).toEqual({ isDone: false, chat: undefined });
    expect(await chats.get(own, 99)).toBeUndefined();
  });
});

const now = '2027-01-31T12:34:56.789Z';
const lease: Lease = { id: 'lease-1', until: 1_800_000_000_000 };
const otherLease: Lease = { id: 'lease-2', until: 1_800_000_000_500 };

const create = (changes: Partial<NewChat> = {}): Promise<Chat> =>
  chats.create(newChat(newWorkspace(), changes));
const take = ({ workspaceId, id, agentId }: Chat, changes: Partial<LeaseRequest> = {}) =>
  chats.takeLease({
    ...{ workspaceId, chatId: id, agentId, externalUserId: undefined, lease, now },
    ...changes,
  });
const read = ({ workspaceId, id }: Chat) => chats.get(workspaceId, id);
const createLeased = async (): Promise<Chat> => {
  const chat = await create();
  await take(chat);
  return { ...chat, lease, updatedAt: now };
};

describe('a chat lease is taken', () => {
  it('once, and the chat is updated', async () => {
    const chat = await create();
    const leased = { ...chat, lease, updatedAt: now };
    expect(await take(chat)).toEqual({ taken: true, chat: leased });
    expect(await read(chat)).toEqual(leased);
    expect(await take(chat, { lease: otherLease })).toEqual({ taken: false, chat: leased });
    expect(await read(chat)).toEqual(leased);
  });

  it('by a request that has taken it already and was repeated', async () => {
    const chat = await createLeased();
    expect(await take(chat)).toEqual({ taken: true, chat });
  });

  it('by one of twenty concurrent requests', async () => {
    const chat = await create();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        take(chat, { lease: { id: `lease-${index}`, until: lease.until } }),
      ),
    );
    const [taken] = results.filter((result) => result.taken);
    expect(results.filter((result) => !result.taken)).toHaveLength(19);
    expect(await read(chat)).toEqual(taken?.chat);
    expect(results.map((result) => result.chat)).toEqual(results.map(() => taken?.chat));
  });

  it('once for each request, which its further attempts alone may take again', async () => {
    const chat = await create();
    const request = { id: 'request-1', isFurtherAttempt: false };
    expect(await take(chat, { request })).toMatchObject({ taken: true });
    await chats.releaseLease(chat, lease.id, 2);
    const repeated = await take(chat, { lease: otherLease, request });
    expect(repeated).toMatchObject({ taken: false, chat: { lease: null, messageCount: 2 }, startedAt: 1 });
    const other = { id: 'request-2', isFurtherAttempt: false };
    expect(await take(chat, { lease: otherLease, request: other })).toMatchObject({ taken: true });
    await chats.releaseLease(chat, otherLease.id, 4);
    const further = { lease, request: { ...other, isFurtherAttempt: true } };
    expect(await take(chat, further)).toMatchObject({ taken: true });
    await chats.releaseLease(chat, lease.id, 6);
    expect(await take(chat, { lease, request: other })).toMatchObject({ taken: false, startedAt: 5 });
    // A batch has no such request, and no gateway repeats it.
    expect(await take(chat)).toMatchObject({ taken: true });
  });

  it('for its own agent alone', async () => {
    const chat = await create();
    expect(await take(chat, { agentId: 'agent-2' })).toEqual({ taken: false, chat });
    expect(await read(chat)).toEqual(chat);
  });

  it.each([
    { owner: null, user: undefined, taken: true },
    { owner: null, user: 'user-1', taken: true },
    { owner: 'user-1', user: 'user-1', taken: true },
    { owner: 'user-1', user: 'user-2', taken: false },
    { owner: 'user-1', user: undefined, taken: false },
  ])('of a chat of user $owner by user $user: $taken', async ({ owner, user, taken }) => {
    const chat = await create({ externalUserId: owner });
    const result = await take(chat, { externalUserId: user });
    const expected = taken ? { ...chat, lease, updatedAt: now } : chat;
    expect(result).toEqual({ taken, chat: expected });
    expect(await read(chat)).toEqual(expected);
  });

  it('of no chat that does not exist or is in another workspace', async () => {
    const chat = await create();
    for (const changes of [{ chatId: 2 }, { workspaceId: newWorkspace() }])
      expect(await take(chat, changes)).toEqual({ taken: false, chat: undefined });
    expect(await read({ ...chat, id: 2 })).toBeUndefined();
    expect(await read(chat)).toEqual(chat);
  });
});

describe('a chat lease is taken over', () => {
  it('from the lease that was read; updated_at stays', async () => {
    const chat = await createLeased();
    expect(await chats.takeOverLease(chat, otherLease)).toBe(true);
    expect(await read(chat)).toEqual({ ...chat, lease: otherLease });
  });

  it('by a request that has taken it over already and was repeated', async () => {
    const chat = await createLeased();
    await chats.takeOverLease(chat, otherLease);
    expect(await chats.takeOverLease(chat, otherLease)).toBe(true);
    expect(await read(chat)).toEqual({ ...chat, lease: otherLease });
  });

  it.each<[what: string, change: (chat: Chat) => Promise<unknown>]>([
    ['renewed', (chat) => chats.renewLease(chat, lease.id, lease.until + 1)],
    ['released', (chat) => chats.releaseLease(chat, lease.id, 0)],
    ['taken over', (chat) => chats.takeOverLease(chat, { ...otherLease, id: 'lease-3' })],
    [
      'released with more messages, and taken with the same lease',
      async (chat) => {
        await chats.releaseLease(chat, lease.id, 2);
        await take(chat);
      },
    ],
  ])('not after it was %s', async (_what, change) => {
    const chat = await createLeased();
    await change(chat);
    const changed = await read(chat);
    expect(await chats.takeOverLease(chat, otherLease)).toBe(false);
    expect(await read(chat)).toEqual(changed);
  });

  it('not of a chat that was read without a lease and has one now', async () => {
    const chat = await create();
    await take(chat);
    expect(await chats.takeOverLease(chat, otherLease)).toBe(false);
    expect((await read(chat))?.lease).toEqual(lease);
  });
});

describe('a chat lease', () => {
  it('is renewed by its owner alone', async () => {
    const chat = await createLeased();
    expect(await chats.renewLease(chat, lease.id, lease.until + 1000)).toBe(true);
    const renewed = { ...chat, lease: { id: lease.id, until: lease.until + 1000 } };
    expect(await read(chat)).toEqual(renewed);
    expect(await chats.renewLease(chat, otherLease.id, lease.until + 2000)).toBe(false);
    expect(await read(chat)).toEqual(renewed);
  });

  it('is released by its owner alone, with the number of messages', async () => {
    const chat = await createLeased();
    expect(await chats.releaseLease(chat, otherLease.id, 4)).toBe(false);
    expect(await read(chat)).toEqual(chat);
    expect(await chats.releaseLease(chat, lease.id, 2)).toBe(true);
    expect(await read(chat)).toEqual({ ...chat, lease: null, messageCount: 2 });
  });

  const stopped = { id: lease.id, until: 1_700_000_000_000, isStopped: true } as const;

  it('is stopped once, and then keeps its time until its owner acknowledges the stop', async () => {
    const chat = await createLeased();
    expect(await chats.stopLease(chat, otherLease.id, stopped.until)).toBe(false);
    expect(await read(chat)).toEqual(chat);
    expect(await chats.stopLease(chat, lease.id, stopped.until)).toBe(true);
    expect(await read(chat)).toEqual({ ...chat, lease: stopped });
    expect(await chats.stopLease(chat, lease.id, stopped.until + 1)).toBe(true);
    expect(await chats.renewLease(chat, lease.id, lease.until + 1000)).toBe(true);
    await chats.acknowledgeStop(chat, otherLease.id, lease.until);
    expect(await read(chat)).toEqual({ ...chat, lease: stopped });
    await chats.acknowledgeStop(chat, lease.id, stopped.until + 2);
    expect(await read(chat)).toEqual({ ...chat, lease: { ...stopped, until: stopped.until + 2 } });
  });

  it('is stopped no more when it has ended: neither its successor nor its chat', async () => {
    const chat = await createLeased();
    await chats.stopLease(chat, lease.id, stopped.until);
    await chats.releaseLease(chat, lease.id, 0);
    expect(await chats.stopLease(chat, lease.id, stopped.until)).toBe(false);
    expect(await read(chat)).toEqual({ ...chat, lease: null });
    expect(await take(chat, { lease: otherLease })).toMatchObject({ taken: true });
    expect((await read(chat))?.lease).toEqual(otherLease);
    const third = { ...otherLease, id: 'lease-3' };
    await chats.stopLease(chat, otherLease.id, stopped.until);
    const stoppedOther = { ...stopped, id: otherLease.id };
    expect(await chats.takeOverLease({ ...chat, lease: stoppedOther }, third)).toBe(true);
    expect((await read(chat))?.lease).toEqual(third);
  });

  it('survives a change of the name', async () => {
    const chat = await createLeased();
    await chats.change(chat, { name: 'Renamed' }, '2027-02-01T00:00:00.000Z');
    expect(await read(chat)).toEqual({ ...chat, name: 'Renamed', updatedAt: '2027-02-01T00:00:00.000Z' });
  });
});

it('the open turn has the messages after the count', async () => {
  const chat = await createLeased();
  const { messages } = stores;
  expect(await chats.openTurn(chat)).toEqual({ user: false, reply: false });
  await messages.put(chat, userMessage(1));
  expect(await chats.openTurn(chat)).toEqual({ user: true, reply: false });
  await messages.put(chat, replyMessage(2));
  expect(await chats.openTurn(chat)).toEqual({ user: true, reply: true });
  expect(await chats.openTurn({ ...chat, messageCount: 2 })).toEqual({ user: false, reply: false });
});
