import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Chat, Lease, LeaseRequest, NewChat } from '#domain/chats/chat.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { replyMessage, userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());
const { chats } = stores;

const now = '2027-01-31T12:34:56.789Z';
const lease: Lease = { id: 'lease-1', until: 1_800_000_000_000 };
const otherLease: Lease = { id: 'lease-2', until: 1_800_000_000_500 };

const create = (changes: Partial<NewChat> = {}): Promise<Chat> =>
  chats.create({
    ...{ workspaceId: `ws_${randomUUID()}`, agentId: 'agent-1', name: 'A chat', externalUserId: null },
    ...changes,
  });
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
    for (const changes of [{ chatId: 2 }, { workspaceId: `ws_${randomUUID()}` }])
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

  it('by one of twenty concurrent requests', async () => {
    const chat = await createLeased();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        chats.takeOverLease(chat, { id: `next-${index}`, until: otherLease.until }),
      ),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
    expect((await read(chat))?.lease?.id).toBe(`next-${results.indexOf(true)}`);
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

  it('is neither renewed nor released after its release', async () => {
    const chat = await createLeased();
    await chats.releaseLease(chat, lease.id, 2);
    expect(await chats.renewLease(chat, lease.id, lease.until)).toBe(false);
    expect(await chats.releaseLease(chat, lease.id, 4)).toBe(false);
    expect(await read(chat)).toEqual({ ...chat, lease: null, messageCount: 2 });
  });

  it('of a missing chat is neither renewed nor released, and creates nothing', async () => {
    const missing = { ...(await createLeased()), id: 2 };
    expect(await chats.renewLease(missing, lease.id, lease.until)).toBe(false);
    expect(await chats.releaseLease(missing, lease.id, 2)).toBe(false);
    expect(await chats.takeOverLease(missing, otherLease)).toBe(false);
    expect(await read(missing)).toBeUndefined();
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
