import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import type { Purge } from '#domain/chats/purge.ts';
import { eraseChat } from '#domain/erasure/erasure.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { noObjects } from '#support/memory-objects.ts';
import { userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());
const at = '2027-02-01T00:00:00.000Z';
const fiveMinutes = 5 * 60_000;

const create = (workspaceId = `ws_${randomUUID()}`): Promise<Chat> =>
  stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
const purge = ({ workspaceId, id: chatId }: Chat) =>
  eraseChat(
    { ...stores, ...noObjects },
    { workspaceId, chatId, deletedAt: at },
    { isLast: true, hasTime: () => true },
  );
const historyOf = async (chat: Chat) => {
  const pages = stores.messages.range(chat, { first: 1, last: 1000, ascending: true });
  return (await Array.fromAsync(pages)).flat();
};

describe('the outbox', () => {
  /** The purges of one workspace. */
  const purgesOf = async (workspaceId: string, deletedUpTo = at) =>
    (await Array.fromAsync(stores.purgeOutbox.pages(deletedUpTo)))
      .flat()
      .filter((purge) => purge.workspaceId === workspaceId);

  it('has a purge from its deletion on until it is removed, which is due five minutes later', async () => {
    const chat = await create();
    const purge: Purge = { workspaceId: chat.workspaceId, chatId: chat.id, deletedAt: at };
    expect(await stores.purgeOutbox.has(purge)).toBe(false);
    await stores.chats.delete([chat], at);
    expect(await stores.purgeOutbox.has(purge)).toBe(true);
    expect(await purgesOf(chat.workspaceId)).toEqual([{ ...purge, dueAt: Date.parse(at) + fiveMinutes }]);
    await stores.purgeOutbox.postpone(purge, 7);
    expect(await purgesOf(chat.workspaceId)).toEqual([{ ...purge, dueAt: 7 }]);
    await stores.purgeOutbox.remove(purge);
    expect(await stores.purgeOutbox.has(purge)).toBe(false);
    await stores.purgeOutbox.postpone(purge, 8);
    expect(await purgesOf(chat.workspaceId)).toEqual([]);
  });

  it('lists the oldest deletion first, and none after a time', async () => {
    const [one, other] = [await create(), await create()];
    await stores.chats.delete([other], '2027-02-01T00:00:00.001Z');
    await stores.chats.delete([one], at);
    const pages = await Array.fromAsync(stores.purgeOutbox.pages('2027-02-01T00:00:00.001Z'));
    const found = pages
      .flat()
      .map(({ workspaceId }) => workspaceId)
      .filter((id) => id === one.workspaceId || id === other.workspaceId);
    expect(found).toEqual([one.workspaceId, other.workspaceId]);
    expect(await purgesOf(one.workspaceId)).toHaveLength(1);
    expect(await purgesOf(other.workspaceId)).toEqual([]);
    expect(await purgesOf(one.workspaceId, '2027-01-31T23:59:59.999Z')).toEqual([]);
  });
});

describe('an erasure in the outbox', () => {
  it('is one for each person, and a newer one replaces it', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    const older = { workspaceId, externalUserId: 'Zoë #2', deletedAt: at };
    const newer = { ...older, deletedAt: '2027-02-01T00:00:00.001Z' };
    const other = { ...older, externalUserId: 'ann' };
    for (const erasure of [older, other, newer]) await stores.erasures.request(erasure, 'tester');
    expect(await Promise.all([older, newer, other].map(stores.purgeOutbox.has))).toEqual([false, true, true]);
    const listed = async () =>
      (await Array.fromAsync(stores.purgeOutbox.pages('2028')))
        .flat()
        .filter((each) => each.workspaceId === workspaceId);
    const dueAt = Date.parse(at) + fiveMinutes;
    await stores.purgeOutbox.postpone(older, 7);
    await stores.purgeOutbox.remove(older);
    expect(await listed()).toHaveLength(2);
    expect(await listed()).toEqual(
      expect.arrayContaining([
        { ...newer, dueAt: dueAt + 1 },
        { ...other, dueAt },
      ]),
    );
    await stores.purgeOutbox.postpone(newer, 7);
    await stores.purgeOutbox.remove(other);
    expect(await listed()).toEqual([{ ...newer, dueAt: 7 }]);
  });

  it('adds up what its runs have erased, until it ends', async () => {
    const person = { workspaceId: `ws_${randomUUID()}`, externalUserId: 'ann' };
    const [older, newer] = [
      { ...person, deletedAt: at },
      { ...person, deletedAt: '2027-02-01T00:00:00.001Z' },
    ];
    const { erasures, purgeOutbox } = stores;
    expect(await erasures.erased(person)).toBeUndefined();
    await erasures.request(older, 'tester');
    const none = { chats: 0, ratings: 0, batchRequests: 0, others: 0 };
    expect(await erasures.erased(person)).toEqual(none);
    await Promise.all([1, 2, 3].map((chats) => erasures.add(older, { chats, others: 1 })));
    await purgeOutbox.postpone(older, 7, { ratings: 2, batchRequests: 4 });
    const sum = { chats: 6, ratings: 2, batchRequests: 4, others: 3 };
    expect(await erasures.erased(person)).toEqual(sum);
    await erasures.request(newer, 'tester', sum);
    await erasures.add(older, { chats: 100 });
    await erasures.add(newer, { chats: 1 });
    expect(await erasures.erased(person)).toEqual({ ...sum, chats: 7 });
    await purgeOutbox.remove(newer);
    await erasures.add(newer, { chats: 1 });
    expect(await erasures.erased(person)).toBeUndefined();
  });

  it('leaves the whitelist as the operator wrote it', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    await stores.workspaces.addToWhitelist(workspaceId, ['ann', 'bob']);
    await stores.erasures.request({ workspaceId, externalUserId: 'ann', deletedAt: at }, 'tester');
    const listed = await Promise.all(
      ['ann', 'bob'].map((user) => stores.workspaces.isListed(workspaceId, user)),
    );
    expect(listed).toEqual([true, true]);
  });
});

describe('the data of a chat', () => {
  it('is undefined as the text of a message, which a chat that exists must have', async () => {
    const chat = await create();
    await stores.messages.put(chat, userMessage(1, 'Hi'));
    const text = (position: number) => stores.messages.contentAt(chat.workspaceId, chat.id, position);
    await expect(text(2)).rejects.toThrow('missing');
    await stores.chats.delete([chat], at);
    expect(await text(1)).toBe('Hi');
    await purge(chat);
    expect(await text(1)).toBeUndefined();
  });

  it('is a history that ends before a large text that is gone', async () => {
    const chat = await create();
    const large = 'q'.repeat(300_001);
    for (const position of [1, 3, 5, 7, 9]) await stores.messages.put(chat, userMessage(position, large));
    const pages = stores.messages.range(chat, { first: 1, last: 9, ascending: true });
    let read = 0;
    for await (const page of pages) {
      read += page.length;
      await stores.chats.delete([chat], at);
      await purge(chat);
    }
    expect(read).toBeGreaterThan(0);
  });

  it('has more messages than one write', async () => {
    const chat = await create();
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => stores.messages.put(chat, userMessage(2 * index + 1, 'Hi'))),
    );
    await purge(chat);
    expect(await historyOf(chat)).toEqual([]);
  });
});
