import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { historyCache } from '#adapters/dynamo/chats/history-cache.ts';
import type { ReasoningStep } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { type Message, type MessageStore, noUsage } from '#domain/chats/message.ts';
import { memoryStores } from '#support/dynamo-stores.ts';
import { file } from '#support/frozen/entities.ts';
import { manualClock } from '#support/manual-clock.ts';
import { messageAt, replyMessage, turnsOf, userMessage } from '#support/messages.ts';
import { seededRandom } from '#support/seeded-random.ts';

const clock = manualClock();
const stores = memoryStores({ clock, actor: () => 'tester' });

const create = (): Promise<Chat> =>
  stores.chats.create({
    ...{ workspaceId: `ws_${randomUUID()}`, agentId: 'agent-1', name: 'A chat', externalUserId: null },
  });

/** A cache of its own, as each environment has, that counts its reads. */
function openEnvironment(changes: Partial<MessageStore> = {}) {
  let reads = 0;
  const counted: MessageStore = {
    ...stores.messages,
    ...changes,
    recent(chat, upTo, characters) {
      // Position 0 needs no read.
      if (upTo !== 0) reads += 1;
      return stores.messages.recent(chat, upTo, characters);
    },
  };
  return {
    ...historyCache(counted, clock),
    get reads() {
      return reads;
    },
    set reads(count) {
      reads = count;
    },
  };
}

type Environment = ReturnType<typeof openEnvironment>;

/** Reads the history as a send does, with a pending position, and stores the messages of the turn. */
async function take({ messages }: Environment, chat: Chat, turn: [Message, Message]): Promise<Message[]> {
  const history = await messages.recent(chat, Promise.resolve(turn[0].position - 1), 60_000);
  for (const message of turn) expect(await messages.put(chat, message)).toBe(true);
  return history;
}

const turnAt = (position: number, content?: string): [Message, Message] => [
  messageAt(position, content),
  messageAt(position + 1),
];

it('an environment reads no history of a chat that it has created', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  environment.addNewChat(chat);
  for (const position of [1, 3])
    expect(await take(environment, chat, turnAt(position))).toHaveLength(position - 1);
  expect(environment.reads).toBe(0);
});

it('a turn of another environment is read, and starts a pause of a minute for all chats', async () => {
  const [chat, environment, other] = [await create(), openEnvironment(), openEnvironment()];
  const second = await create();
  for (const each of [chat, second]) await take(environment, each, turnAt(1));
  environment.reads = 0;
  await take(other, chat, turnAt(3));
  expect(await take(environment, chat, turnAt(5))).toEqual([...turnAt(1), ...turnAt(3)]);
  await take(environment, second, turnAt(3));
  expect(environment.reads).toBe(2);
  await clock.advance(59_999);
  for (const position of [7, 9]) await take(environment, chat, turnAt(position));
  expect(environment.reads).toBe(4);
  await clock.advance(1);
  for (const position of [11, 13]) await take(environment, chat, turnAt(position));
  expect(environment.reads).toBe(5);
});

it('a history has the messages that were stored with a key and with the release of the lease', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  const now = clock.now();
  const lease = { id: randomUUID(), until: now.getTime() + 30_000 };
  const { workspaceId, id, agentId } = chat;
  await stores.chats.takeLease({
    ...{ workspaceId, chatId: id, agentId, externalUserId: undefined, lease, now: now.toISOString() },
  });
  const [question, reply] = [userMessage(1), replyMessage(2)];
  const key = { workspaceId, hash: 'key', fingerprint: 'request', at: now.getTime() };
  expect(await environment.messages.putWithKey(chat, question, key)).toBe('stored');
  expect(await environment.messages.putAndRelease(chat, lease.id, reply)).toBe('stored');
  expect(await environment.messages.recent(chat, 2, 100)).toEqual([question, reply]);
  expect(environment.reads).toBe(0);
});

it.each([
  [40, 1],
  [39, 3],
  [20, 3],
  [19, 5],
])('of a cached history, %i characters start at the message %i', async (characters, first) => {
  const [chat, environment] = [await create(), openEnvironment()];
  const messages = [1, 2, 3, 4].map((position) => messageAt(position, 'c'.repeat(10)));
  for (const message of messages) await environment.messages.put(chat, message);
  const history = await environment.messages.recent(chat, 4, characters);
  expect(history).toEqual(messages.slice(first - 1));
  expect(environment.reads).toBe(0);
});

it('a history has the reply that comes while the lease is taken, without a read or a pause', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  await take(environment, chat, turnAt(1));
  await environment.messages.put(chat, messageAt(3));
  environment.reads = 0;
  const lease = Promise.withResolvers<number>();
  const reading = environment.messages.recent(chat, lease.promise, 60_000);
  await environment.messages.put(chat, messageAt(4));
  lease.resolve(4);
  expect(await reading).toHaveLength(4);
  expect(environment.reads).toBe(0);
});

it.each([
  ['whose response is lost', () => Promise.reject(new Error('Timed out'))],
  ['that finds its position taken', async () => false],
])('a write %s makes the next turn read, without a pause for other chats', async (_what, respond) => {
  let respondTo = (stored: boolean): Promise<boolean> => Promise.resolve(stored);
  const environment = openEnvironment({
    put: async (chat, message) => respondTo(await stores.messages.put(chat, message)),
  });
  const [chat, other] = [await create(), await create()];
  for (const one of [chat, other]) await take(environment, one, turnAt(1));
  respondTo = respond;
  await environment.messages.put(chat, messageAt(3)).catch(() => undefined);
  respondTo = async (stored) => stored;
  await environment.messages.put(chat, messageAt(4));
  environment.reads = 0;
  expect(await environment.messages.recent(chat, 4, 60_000)).toHaveLength(4);
  expect(environment.reads).toBe(1);
  expect(await environment.messages.recent(other, 2, 60_000)).toHaveLength(2);
  expect(environment.reads).toBe(1);
});

it('a rejected position is thrown, with and without a cached history', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  const rejected = () => Promise.reject<number>(new Error('No lease'));
  await expect(environment.messages.recent(chat, rejected(), 100)).rejects.toThrow('No lease');
  await take(environment, chat, turnAt(1));
  await expect(environment.messages.recent(chat, rejected(), 100)).rejects.toThrow('No lease');
});

it.each([
  { content: 250_000 - 4 - 4 * 500 - 3 * 'message 1'.length, reads: 0 },
  { content: 250_000 - 3 - 4 * 500 - 3 * 'message 1'.length, reads: 1 },
])('a history of over 250,000 characters is not cached: $content, $reads', async ({ content, reads }) => {
  const [chat, environment] = [await create(), openEnvironment()];
  for (const turn of [turnAt(1), turnAt(3, 'c'.repeat(content))]) await take(environment, chat, turn);
  environment.reads = 0;
  expect(await environment.messages.recent(chat, 4, 300_000)).toHaveLength(4);
  expect(environment.reads).toBe(reads);
});

it.each([
  { files: 499, reads: 0 },
  { files: 500, reads: 1 },
])('an attached file counts as 500 characters: $files, $reads', async ({ files, reads }) => {
  const [chat, environment] = [await create(), openEnvironment()];
  await environment.messages.put(chat, userMessage(1, '', { attachments: Array(files).fill(file) }));
  await environment.messages.recent(chat, 1, 100);
  expect(environment.reads).toBe(reads);
});

it('the oldest histories leave when all have 8,000,000 characters', async () => {
  const [environment, content] = [openEnvironment(), 'c'.repeat(200_000)];
  const chats = await Promise.all(Array.from({ length: 41 }, create));
  for (const chat of chats) await take(environment, chat, turnAt(1, content));
  const areRead = [];
  for (const chat of chats.toReversed()) {
    environment.reads = 0;
    await environment.messages.recent(chat, 2, 250_000);
    areRead.push(environment.reads === 1);
  }
  // 39 of 201,000 characters fit.
  expect(areRead.indexOf(true)).toBe(39);
});

it('a turn that prompts do without is not read again, and is back after the next such turn', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  const turns = turnsOf('+--+');
  for (const [position, shown] of [
    [1, []],
    [3, [1]],
    [5, [1]],
    [7, [1, 2, 3]],
  ] as const) {
    const turn = turns.slice(position - 1, position + 1) as [Message, Message];
    const expected = shown.flatMap((number) => turns.slice(2 * number - 2, 2 * number));
    expect(await take(environment, chat, turn)).toEqual(expected);
  }
  expect(environment.reads).toBe(1);
});

it('a history that lacks its last turn starts no pause', async () => {
  const [chat, environment] = [await create(), openEnvironment()];
  const turns = turnsOf('+-+');
  for (const message of turns.slice(0, 4)) await stores.messages.put(chat, message);
  // A send that stores nothing.
  expect(await environment.messages.recent(chat, 4, 60_000)).toEqual(turns.slice(0, 2));
  expect(await take(environment, chat, turns.slice(4) as [Message, Message])).toEqual(turns.slice(0, 2));
  const expected = [...turns.slice(0, 2), ...turns.slice(4)];
  expect(await take(environment, chat, turnAt(7))).toEqual(expected);
  expect(await take(environment, chat, turnAt(9))).toEqual([...expected, ...turnAt(7)]);
  expect(environment.reads).toBe(3);
});

it.each([1, 2, 3, 4])('each history is as the table has it, with the seed %i', async (seed) => {
  const random = seededRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const step: ReasoningStep = {
    ...{ id: 'step-1', type: 'consultant_search_web', content: '', args: { q: 'a' }, result: null },
    ...{ started_at: '2027-01-31T12:00:00.000Z', ended_at: null, token_usage: noUsage },
  };
  const environments = [openEnvironment(), openEnvironment()];
  const chats = await Promise.all([create(), create(), create()]);
  const positions = chats.map(() => 1);
  const rejected = chats.map(() => 0);
  for (let turn = 0; turn < 120; turn += 1) {
    const index = below(chats.length);
    const chat = chats[index] as Chat;
    const position = positions[index] as number;
    const { messages } = environments[random() < 0.97 ? 0 : 1] as Environment;
    const length = random() < 0.1 ? 130_000 : below(300);
    const upTo = random() < 0.2 ? below(position) : position - 1;
    const characters = random() < 0.5 ? 60_000 : below(2000);
    expect(await messages.recent(chat, Promise.resolve(upTo), characters)).toEqual(
      await stores.messages.recent(chat, upTo, characters),
    );
    await messages.put(chat, userMessage(position, 'u'.repeat(length)));
    const reasoningSteps = Array.from({ length: below(3) }, () => ({
      ...step,
      content: 's'.repeat(below(200)),
    }));
    const store = random() < 0.97 ? messages : stores.messages;
    const kind = random();
    rejected[index] = kind < 0.2 ? (rejected[index] as number) + 1 : 0;
    const reply = replyMessage(position + 1, 'r'.repeat(below(300)), {
      reasoningSteps,
      ...(kind < 0.3 && { rejectedTurns: rejected[index] }),
    });
    await store.put(chat, reply);
    positions[index] = position + 2;
    await clock.advance(below(40_000));
  }
  expect(environments[0]?.reads).toBeLessThan(90);
});
