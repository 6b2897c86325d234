import { describe, expect, it, test } from 'vitest';
import { stableWindow } from '#domain/chats/history.ts';

interface Sent {
  role: 'user' | 'assistant';
  content: string;
  turn: number;
}

/** The turns of a chat, each with this many characters of a message and of a reply. */
const chatOf = (turns: number, message: number, reply: number): Sent[] =>
  Array.from({ length: turns }, (_, turn): Sent[] => [
    { role: 'user', content: 'm'.repeat(message), turn },
    { role: 'assistant', content: 'r'.repeat(reply), turn },
  ]).flat();

/** As the store reads them: whole turns, newest first, with at most this many characters. */
function newest(messages: readonly Sent[], characters: number): Sent[] {
  let left = characters;
  const first = messages.findLastIndex(({ content }) => {
    left -= content.length;
    return left < 0;
  });
  return messages.slice(first + 1 + ((first + 1) % 2));
}

const windowOf = (messages: readonly Sent[], characters: number) =>
  stableWindow(newest(messages, characters), ({ turn }) => turn);

const sizeOf = (messages: readonly Sent[]) => messages.reduce((sum, { content }) => sum + content.length, 0);

describe('the window of a chat', () => {
  it.each([
    [200, 1200],
    [1500, 4000],
    [4000, 12_000],
    [1, 1],
    [59_999, 1],
  ])('of turns of %d and %d characters is whole turns, half of what fits, and moves on', (message, reply) => {
    let before = 0;
    for (let turns = 0; turns <= 300; turns += 1) {
      const all = chatOf(turns, message, reply);
      const fits = newest(all, 60_000);
      const window = windowOf(all, 60_000);
      expect(window).toEqual(all.slice(all.length - window.length));
      if (window.length > 0) expect(window[0]?.role).toBe('user');
      expect(sizeOf(window)).toBeGreaterThanOrEqual(sizeOf(fits) / 2);
      if (fits.length === all.length) expect(window).toHaveLength(all.length);
      const start = window[0]?.turn ?? before;
      expect(start).toBeGreaterThanOrEqual(before);
      before = start;
    }
  });

  it('begins at a turn that it has, also if turns are missing', () => {
    const all = chatOf(100, 200, 1200).filter(({ turn }) => turn % 64 !== 0);
    expect(windowOf(all, 60_000)[0]?.turn).toBe(72);
  });

  it('of one message that is no turn is this message', () => {
    const [, reply] = chatOf(1, 10, 10) as [Sent, Sent];
    expect(stableWindow([reply], () => 0)).toEqual([reply]);
    expect(stableWindow([], () => 0)).toEqual([]);
  });
});

/** The part of all prompts that providers have cached: what a prompt has in common with the one before, from its beginning. */
function cachedShare(turns: number, message: number, reply: number): number {
  const system = 600;
  let [cached, sent] = [0, 0];
  let before: readonly Sent[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const window = windowOf(chatOf(turn, message, reply), 60_000);
    const common = window.filter((each, index) => each.turn === before[index]?.turn);
    // The message of the turn before was sent with its prompt, its reply was not.
    if (turn > 0) cached += system + sizeOf(common) + (common.length === before.length ? message : 0);
    sent += system + sizeOf(window) + message;
    before = window;
  }
  return cached / sent;
}

test.each([
  [20, 200, 1200, 0.85],
  [40, 200, 1200, 0.85],
  [200, 200, 1200, 0.85],
  [400, 200, 1200, 0.85],
  [200, 1500, 4000, 0.65],
])('over %d turns of %d and %d characters %d of the prompts is cached', (turns, message, reply, share) => {
  const cached = cachedShare(turns, message, reply);
  console.log(`${turns} turns of ${message} and ${reply} characters: ${(cached * 100).toFixed(1)} % cached`);
  expect(cached).toBeGreaterThanOrEqual(share);
});
