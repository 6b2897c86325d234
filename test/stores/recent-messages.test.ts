import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReasoningStep } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { type Message, noUsage } from '#domain/chats/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { messageAt, replyMessage, turnsOf } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());
const { messages } = stores;

const create = async (stored: readonly Message[]): Promise<Chat> => {
  const chat = await stores.chats.create({
    ...{ workspaceId: `ws_${randomUUID()}`, agentId: 'agent-1', name: 'A chat', externalUserId: null },
  });
  for (let first = 0; first < stored.length; first += 50)
    await Promise.all(stored.slice(first, first + 50).map((message) => messages.put(chat, message)));
  return chat;
};
const messagesTo = (count: number, contentAt: (position: number) => string): Message[] =>
  Array.from({ length: count }, (_, index) => messageAt(index + 1, contentAt(index + 1)));
const positionsOf = (found: readonly Message[]): number[] => found.map(({ position }) => position);

describe('the newest messages', () => {
  /** 100 characters each. */
  const stored = messagesTo(8, (position) => `${position}`.repeat(100));
  let chat: Chat;
  beforeAll(async () => {
    chat = await create(stored);
  });

  it.each([
    { upTo: 8, characters: 800, positions: [1, 2, 3, 4, 5, 6, 7, 8] },
    // Turns stay whole: a window starts with a user message.
    { upTo: 8, characters: 799, positions: [3, 4, 5, 6, 7, 8] },
    { upTo: 8, characters: 600, positions: [3, 4, 5, 6, 7, 8] },
    { upTo: 8, characters: 599, positions: [5, 6, 7, 8] },
    { upTo: 8, characters: 200, positions: [7, 8] },
    { upTo: 8, characters: 199, positions: [] },
    { upTo: 8, characters: 100, positions: [] },
    { upTo: 8, characters: 99, positions: [] },
    { upTo: 8, characters: 0, positions: [] },
    { upTo: 4, characters: 400, positions: [1, 2, 3, 4] },
    { upTo: 4, characters: 399, positions: [3, 4] },
    { upTo: 5, characters: 300, positions: [3, 4, 5] },
    { upTo: 5, characters: 200, positions: [5] },
    { upTo: 100, characters: 200, positions: [7, 8] },
    { upTo: 0, characters: 800, positions: [] },
  ])('up to $upTo with $characters characters are $positions', async ({ upTo, characters, positions }) => {
    const expected = positions.map((position) => stored[position - 1]);
    expect(await messages.recent(chat, upTo, characters)).toEqual(expected);
    expect(await messages.recent(chat, Promise.resolve(upTo), characters)).toEqual(expected);
  });

  it('have messages that are stored while the position is not known yet', async () => {
    const own = await create(stored.slice(0, 2));
    const upTo = Promise.withResolvers<number>();
    const reading = messages.recent(own, upTo.promise, 800);
    for (const message of stored.slice(2, 4)) await messages.put(own, message);
    upTo.resolve(4);
    expect(await reading).toEqual(stored.slice(0, 4));
  });
});

it('empty messages are within every limit', async () => {
  const stored = [...messagesTo(2, () => 'Hi'), ...messagesTo(4, () => '').slice(2)];
  const chat = await create(stored);
  expect(positionsOf(await messages.recent(chat, 4, 0))).toEqual([3, 4]);
  expect(positionsOf(await messages.recent(chat, 4, 4))).toEqual([1, 2, 3, 4]);
});

it('characters are UTF-16 code units, also of a text outside of the table', async () => {
  const large = '名前😀 '.repeat(40_000);
  const chat = await create([messageAt(1, '😀'), messageAt(2, large), messageAt(3, '名')]);
  expect(large).toHaveLength(200_000);
  for (const [characters, positions] of [
    [200_003, [1, 2, 3]],
    [200_002, [3]],
    [200_001, [3]],
    [200_000, [3]],
    [1, [3]],
    [0, []],
  ] as const)
    expect(positionsOf(await messages.recent(chat, 3, characters))).toEqual(positions);
});

describe('a window of 1,000 messages at most', () => {
  const stored = turnsOf(`${'+'.repeat(500)}-`, () => 'm');
  let chat: Chat;
  beforeAll(async () => {
    chat = await create(stored);
  });

  it.each([
    { upTo: 1000, first: 1, last: 1000 },
    { upTo: 1001, first: 3, last: 1001 },
    // The last turn was rejected. It counts all the same.
    { upTo: 1002, first: 3, last: 1000 },
  ])('starts at $first if it ends at $upTo', async ({ upTo, first, last }) => {
    expect(await messages.recent(chat, upTo, 1_000_000)).toEqual(stored.slice(first - 1, last));
  });
});

describe('turns whose content was rejected', () => {
  it.each([
    { turns: '+-', shown: [1] },
    { turns: '+--', shown: [1, 2, 3] },
    { turns: '+---', shown: [1] },
    { turns: '+----', shown: [1, 2, 3, 4, 5] },
    { turns: '-', shown: [] },
    { turns: '--', shown: [1, 2] },
    { turns: '-+', shown: [2] },
    { turns: '+-+--+', shown: [1, 3, 4, 5, 6] },
    { turns: '+-+---+', shown: [1, 3, 7] },
    // The next turn was taken only without them.
    { turns: '+--=', shown: [1, 4] },
    { turns: '+--=+--', shown: [1, 4, 5, 6, 7] },
    { turns: '+--=-', shown: [1, 4] },
    { turns: '+--+=', shown: [1, 2, 3, 4, 5] },
    { turns: `+${'-'.repeat(51)}+`, shown: [1, 53] },
  ])('are in no window if they are an odd number in a row: $turns', async ({ turns, shown }) => {
    const stored = turnsOf(turns);
    const chat = await create(stored);
    const expected = shown.flatMap((turn) => stored.slice(2 * turn - 2, 2 * turn));
    expect(await messages.recent(chat, stored.length, 60_000)).toEqual(expected);
    expect(await messages.recent(chat, Promise.resolve(stored.length), 60_000)).toEqual(expected);
  });

  it('take no characters of the window, nor does a window end the row that it begins in', async () => {
    const stored = turnsOf('+---+--', () => 'm'.repeat(100));
    const chat = await create(stored);
    const shown = (upTo: number, characters: number) => messages.recent(chat, upTo, characters);
    expect(positionsOf(await shown(10, 400))).toEqual([1, 2, 9, 10]);
    expect(positionsOf(await shown(10, 399))).toEqual([9, 10]);
    expect(positionsOf(await shown(14, 200))).toEqual([13, 14]);
    expect(positionsOf(await shown(6, 600))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(positionsOf(await shown(6, 200))).toEqual([5, 6]);
    expect(positionsOf(await shown(8, 400))).toEqual([1, 2]);
  });
});

const stepsOf = (characters: number): ReasoningStep[] => {
  const step: ReasoningStep = {
    ...{ id: 'step-1', type: 'consultant_search_web', content: '', args: {}, result: null },
    ...{ started_at: '2027-01-31T12:00:00.000Z', ended_at: null, token_usage: noUsage },
  };
  const empty = JSON.stringify([step]).length;
  return [{ ...step, content: 's'.repeat(characters - empty) }];
};
const turnsWith = (...characters: number[]): Message[] =>
  characters.flatMap((count, index) => [
    messageAt(2 * index + 1, 'm'),
    replyMessage(2 * index + 2, 'r', { reasoningSteps: count === 0 ? [] : stepsOf(count) }),
  ]);
const lengthsIn = (found: readonly Message[]): number[] =>
  found.flatMap((message) =>
    message.role === 'user'
      ? []
      : [message.reasoningSteps.length === 0 ? 0 : JSON.stringify(message.reasoningSteps).length],
  );

it.each([
  { steps: [500_000, 0, 500_000], kept: [500_000, 0, 500_000] },
  { steps: [500_000, 0, 500_001], kept: [0, 0, 500_001] },
  { steps: [1000, 500_001, 500_000], kept: [0, 0, 500_000] },
  { steps: [1_000_000], kept: [1_000_000] },
  { steps: [1_000_001], kept: [0] },
])('reasoning steps have a million characters at most: of $steps $kept', async ({ steps, kept }) => {
  const stored = turnsWith(...steps);
  const chat = await create(stored);
  const window = await messages.recent(chat, stored.length, 1000);
  expect(positionsOf(window)).toEqual(positionsOf(stored));
  expect(lengthsIn(window)).toEqual(kept);
});
