import type { PromptMessage } from './agent-runtime.ts';

/** The largest power of two that divides the number of a turn. Infinity for the number 0. */
const roundnessOf = (turn: number): number => (turn === 0 ? Infinity : turn & -turn);

/**
 * The window begins at the turn whose number has the most factors of two, among the turns that leave at least half of
 * the characters. So its start can stay the same for many turns, and a provider that compares prompts from their
 * beginning can use its cache.
 * @param messages oldest first
 * @param turnOf called for user messages in their order
 */
export function stableWindow<Message extends Pick<PromptMessage, 'role' | 'content'>>(
  messages: readonly Message[],
  turnOf: (message: Message) => number,
): Message[] {
  const all = messages.reduce((sum, { content }) => sum + content.length, 0);
  let left = all;
  let first = 0;
  let roundest = 0;
  for (const [index, message] of messages.entries()) {
    if (left < all / 2) break;
    const roundness = message.role === 'user' ? roundnessOf(turnOf(message)) : 0;
    if (roundness > roundest) [first, roundest] = [index, roundness];
    left -= message.content.length;
  }
  return messages.slice(first);
}
