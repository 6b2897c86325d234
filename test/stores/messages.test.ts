import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FeedbackType, ReasoningStep } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { type Message, noUsage } from '#domain/chats/message.ts';
import type { StoredFile } from '#domain/files/files.ts';
import { NotStorable } from '#domain/platform/failures.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { messageAt, replyMessage, userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { messages } = stores;

const lease = { id: 'lease-1', until: 1_800_000_000_000 };
const create = (workspaceId = `ws_${randomUUID()}`): Promise<Chat> =>
  stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
const createLeased = async (): Promise<Chat> => {
  const chat = await create();
  await stores.chats.takeOverLease(chat, lease);
  return { ...chat, lease };
};
const readChat = ({ workspaceId, id }: Chat) => stores.chats.get(workspaceId, id);
const historyOf = async (chat: Chat, first = 1, last = 1000): Promise<Message[]> => {
  const pages = await Array.fromAsync(messages.range(chat, { first, last, ascending: true }));
  return pages.flat().map(({ message }) => message);
};
/** Larger than an item of the table. */
const largeText = '名前😀 '.repeat(40_000);
const file = (chat: Chat, scope: StoredFile['scope']): StoredFile => ({
  uuid: randomUUID(),
  workspaceId: chat.workspaceId,
  name: '名前 😀.txt',
  contentType: 'text/plain; charset=utf-8',
  size: 12,
  scope,
  createdAt: '2027-01-31T12:00:00.000Z',
  expiresAt: scope === 'ephemeral' ? '2027-02-01T12:00:00.000Z' : null,
});
const step = (content: string): ReasoningStep => ({
  ...{ id: 'step-1', type: 'consultant_search_web', content, args: { query: ['a', 1] } },
  result: { success: true, data: { found: null } },
  started_at: '2027-01-31T12:00:00.000Z',
  ended_at: '2027-01-31T12:00:01.000Z',
  token_usage: noUsage,
});

it.each<[what: string, messageOf: (chat: Chat) => Message]>([
  ['of a user', () => userMessage(1, 'Hi 名前😀')],
  [
    'of a user with files',
    (chat) => userMessage(1, 'Hi', { attachments: [file(chat, 'persistent'), file(chat, 'ephemeral')] }),
  ],
  ['that is empty', () => replyMessage(2, '')],
  [
    'of an agent with everything',
    () =>
      replyMessage(2, 'Hello', {
        reasoningSteps: [step('one'), { ...step('two'), ended_at: null, result: null }],
        tokenUsage: {
          ...{ total_prompt_tokens: 3, total_completion_tokens: 4 },
          ...{ total_tokens: 7, total_calls: 2, cached_prompt_tokens: 2 },
        },
        error: { code: 10005, message: 'Stream timed out' },
        incomplete: 'max_output_tokens',
      }),
  ],
  ['that another function wrote', () => replyMessage(2, '', { agentVersionId: null })],
  ['of a resumable reply', () => replyMessage(2, 'Hi', { responseId: 'resp_r-1' })],
  ['with a text larger than an item', () => userMessage(1, largeText)],
  ['with steps larger than an item', () => replyMessage(2, 'Hi', { reasoningSteps: [step(largeText)] })],
  ['with both larger than an item', () => replyMessage(2, largeText, { reasoningSteps: [step(largeText)] })],
])('a message %s is read as it was stored', async (_what, messageOf) => {
  const chat = await create();
  const message = messageOf(chat);
  expect(await messages.put(chat, message)).toBe(true);
  expect(await historyOf(chat)).toEqual([message]);
  expect(await messages.recent(chat, message.position, 1_000_000)).toEqual([message]);
  expect(await messages.contentAt(chat.workspaceId, chat.id, message.position)).toBe(message.content);
});

describe('a message is stored', () => {
  it.each([
    ['small', 'Second'],
    ['large', largeText],
  ])('not at the position of another one: a %s one', async (_size, content) => {
    const chat = await create();
    await messages.put(chat, userMessage(1, 'First'));
    expect(await messages.put(chat, userMessage(1, content))).toBe(false);
    expect(await historyOf(chat)).toEqual([userMessage(1, 'First')]);
  });

  it('once if its write is repeated', async () => {
    const chat = await create();
    for (let write = 1; write <= 2; write += 1)
      expect(await messages.put(chat, userMessage(1, 'Hi'))).toBe(true);
    expect(await historyOf(chat)).toEqual([userMessage(1, 'Hi')]);
  });

  it('never if its other attributes are larger than an item', async () => {
    const chat = await create();
    const message = replyMessage(2, '', { error: { code: 10005, message: 'e'.repeat(500_000) } });
    await expect(messages.put(chat, message)).rejects.toThrow(NotStorable);
    expect(await historyOf(chat)).toEqual([]);
  });
});

describe('a message with an idempotency key', () => {
  const keyOf = (chat: Chat, hash = 'key'): IdempotencyKey => ({
    ...{ workspaceId: chat.workspaceId, hash, fingerprint: 'request' },
    at: clock.now().getTime(),
  });
  const recordOf = (key: IdempotencyKey) => stores.idempotency.find(key);

  it('is not stored at the position of another one, and its key stays free', async () => {
    const chat = await create();
    await messages.put(chat, userMessage(1, 'First'));
    expect(await messages.putWithKey(chat, userMessage(1, 'Second'), keyOf(chat))).toBe('position-taken');
    expect(await historyOf(chat)).toEqual([userMessage(1, 'First')]);
    expect(await recordOf(keyOf(chat))).toBeUndefined();
    expect(await messages.putWithKey(chat, userMessage(3), keyOf(chat))).toBe('stored');
  });

  it('is not stored if the key is in use', async () => {
    const chat = await create();
    await messages.putWithKey(chat, userMessage(1), keyOf(chat));
    expect(await messages.putWithKey(chat, userMessage(3), keyOf(chat))).toBe('key-in-use');
    // Both conditions fail.
    expect(await messages.putWithKey(chat, userMessage(1, 'Other'), keyOf(chat))).toBe('key-in-use');
    expect(await historyOf(chat)).toEqual([userMessage(1)]);
    expect(await recordOf(keyOf(chat))).toMatchObject({ work: { position: 1 } });
  });

  it.each([
    ['one key', 'key-in-use', (index: number) => ({ hash: 'key', position: 2 * index + 1 })],
    ['one position', 'position-taken', (index: number) => ({ hash: `key ${index}`, position: 1 })],
  ])('is stored once of twenty with %s', async (_what, outcome, nameOf) => {
    const chat = await create();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const { hash, position } = nameOf(index);
        return messages.putWithKey(chat, userMessage(position, `number ${index}`), keyOf(chat, hash));
      }),
    );
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 19 }, () => outcome), 'stored'].sort());
    const contents = (await historyOf(chat)).map(({ content }) => content);
    expect(contents).toEqual([`number ${outcomes.indexOf('stored')}`]);
  });
});

describe('the last message of a turn', () => {
  it('is not stored if its position is taken, and the chat lease stays', async () => {
    const chat = await createLeased();
    await messages.put(chat, replyMessage(2, 'First'));
    expect(await messages.putAndRelease(chat, lease.id, replyMessage(2))).toBe('position-taken');
    expect(await historyOf(chat)).toEqual([replyMessage(2, 'First')]);
    expect(await readChat(chat)).toEqual(chat);
  });

  it('is not stored under another lease, also if its position is taken', async () => {
    const chat = await createLeased();
    expect(await messages.putAndRelease(chat, 'lease-2', replyMessage(2))).toBe('lease-lost');
    expect(await historyOf(chat)).toEqual([]);
    await messages.put(chat, replyMessage(2, 'First'));
    expect(await messages.putAndRelease(chat, 'lease-2', replyMessage(2))).toBe('lease-lost');
    expect(await historyOf(chat)).toEqual([replyMessage(2, 'First')]);
    expect(await readChat(chat)).toEqual(chat);
  });

  it('is stored in a chat without a lease, unless the next turn has ended', async () => {
    const chat = await create();
    const ahead = { ...chat, messageCount: 2 };
    expect(await messages.putAndRelease(ahead, lease.id, replyMessage(4))).toBe('lease-lost');
    expect(await historyOf(chat)).toEqual([]);
    expect(await messages.putAndRelease(chat, lease.id, replyMessage(2))).toBe('stored');
    expect(await readChat(chat)).toEqual({ ...chat, messageCount: 2 });
  });

  it('is stored once of ten that are stored concurrently', async () => {
    const chat = await createLeased();
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        messages.putAndRelease(chat, lease.id, replyMessage(2, `number ${index}`)),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'lease-lost')).toHaveLength(9);
    expect(await historyOf(chat)).toEqual([replyMessage(2, `number ${outcomes.indexOf('stored')}`)]);
  });
});

describe('the history', () => {
  let chat: Chat;
  beforeAll(async () => {
    chat = await create();
    // A page of a query has at most 1 MB: these are several.
    for (let position = 1; position <= 12; position += 1)
      await messages.put(chat, messageAt(position, `${position} ${'x'.repeat(200_000)}`));
    for (const [position, users] of [
      [2, 1],
      [6, 3],
      [12, 2],
    ] as const)
      for (let user = 1; user <= users; user += 1)
        await stores.feedback.record(chat, position, {
          ...{ externalUserId: `user-${user}`, content: null, createdAt: '2027-01-31T12:00:00.000Z' },
          type: user === 1 ? 'sys_helpful' : 'sys_improve',
        });
  });
  const countsAt: Record<number, object> = {
    2: { sys_helpful: 1 },
    6: { sys_helpful: 1, sys_improve: 2 },
    12: { sys_helpful: 1, sys_improve: 1 },
  };

  it.each([
    [1, 12],
    [1, 1],
    [12, 12],
    [2, 6],
    [3, 5],
    [6, 7],
    [5, 100],
    [13, 20],
    [6, 5],
    [0, -1],
  ])('from %i to %i has these messages and their feedback, in both directions', async (first, last) => {
    const positions = Array.from({ length: 12 }, (_, index) => index + 1).filter(
      (position) => position >= first && position <= last,
    );
    for (const ascending of [true, false]) {
      const pages = await Array.fromAsync(messages.range(chat, { first, last, ascending }));
      const found = pages.flat().map(({ message, feedbackCounts }) => ({
        position: message.position,
        starts: message.content.slice(0, 3).trim(),
        feedbackCounts,
      }));
      const ordered = ascending ? positions : positions.toReversed();
      expect(found).toEqual(
        ordered.map((position) => ({
          ...{ position, starts: `${position} x`.slice(0, 3).trim() },
          feedbackCounts: countsAt[position] ?? {},
        })),
      );
    }
  });

  it('of many texts outside of the table is whole', async () => {
    const own = await create();
    const stored = Array.from({ length: 9 }, (_, index) => messageAt(index + 1, `${index} ${largeText}`));
    for (const message of stored) await messages.put(own, message);
    expect(await historyOf(own)).toEqual(stored);
  });
});

const createRated = async (workspaceId?: string): Promise<Chat> => {
  const chat = await create(workspaceId);
  for (const position of [2, 4]) await messages.put(chat, replyMessage(position));
  return chat;
};
const rate = (
  chat: Chat,
  externalUserId: string,
  type: FeedbackType,
  { position = 2, content = null }: { position?: number; content?: string | null } = {},
) =>
  stores.feedback.record(chat, position, {
    ...{ externalUserId, type, content },
    createdAt: '2027-01-31T12:00:00.000Z',
  });
/** By position. */
const countsOf = async (chat: Chat): Promise<Record<number, object>> => {
  const range = { first: 1, last: 4, ascending: true };
  const pages = await Array.fromAsync(stores.messages.range(chat, range));
  return Object.fromEntries(
    pages.flat().map(({ message, feedbackCounts }) => [message.position, feedbackCounts]),
  );
};

it('feedback of thirty users who rate concurrently is counted', async () => {
  const chat = await createRated();
  await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      rate(chat, `user-${index}`, index < 10 ? 'sys_helpful' : 'sys_improve'),
    ),
  );
  expect((await countsOf(chat))[2]).toEqual({ sys_helpful: 10, sys_improve: 20 });
});

it('feedback that one user gives ten times concurrently counts once', async () => {
  const chat = await createRated();
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      rate(chat, 'user-1', index % 2 === 0 ? 'sys_helpful' : 'sys_improve'),
    ),
  );
  const counts = Object.values((await countsOf(chat))[2] ?? {});
  expect(counts).toEqual([1]);
});

it('feedback of a user in chats of nobody is found and removed, which leaves the counts of the others', async () => {
  const [one, other] = [await createRated(), await createRated()];
  const { workspaceId } = one;
  const second = await createRated(workspaceId);
  const own = await stores.chats.create({
    workspaceId,
    agentId: 'agent-1',
    name: 'Own',
    externalUserId: 'user-1',
  });
  await stores.messages.put(own, replyMessage(2));
  for (const chat of [one, other, second, own]) await rate(chat, 'user-1', 'sys_helpful');
  await rate(one, 'user-1', 'sys_improve', { position: 4 });
  await rate(one, 'user-2', 'sys_helpful');
  const ofUser = async () =>
    (await Array.fromAsync(stores.feedback.ofUser({ workspaceId, externalUserId: 'user-1' })))
      .flat()
      .map(({ chatId, position }) => `${chatId}/${position}`)
      .toSorted();
  expect(await ofUser()).toEqual([`${one.id}/2`, `${one.id}/4`, `${second.id}/2`].toSorted());
  for (let times = 0; times < 2; times += 1) await stores.feedback.remove(one, 2, 'user-1');
  expect(await countsOf(one)).toEqual({ 2: { sys_helpful: 1 }, 4: { sys_improve: 1 } });
  expect(await ofUser()).toEqual([`${one.id}/4`, `${second.id}/2`].toSorted());
  expect(await countsOf(other)).toMatchObject({ 2: { sys_helpful: 1 } });
});
