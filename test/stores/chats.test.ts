import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Chat, ChatFilter, NewChat } from '#domain/chats/chat.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
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
