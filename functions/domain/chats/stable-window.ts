import type { PromptMessage } from './agent-runtime.ts';

/** The largest power of two that divides the number of a turn. Infinity for the number 0, the first turn of a chat. */
const roundnessOf = (turn: number): number => (turn === 0 ? Infinity : turn & -turn);

/**
 * The messages that the model gets, of those that its limits allow. A window that always began with the oldest of them
 * would move with every send, and a provider could not use its cache: it compares prompts from their beginning. So the
 * window begins at the turn whose number has the most factors of two, among the turns that leave at least half of the
 * characters, and stays there for many turns. It depends on the messages alone, so every environment and every
 * repetition of a send has the same one.
 * @param messages oldest first
 * @param turnOf the number of the turn that a user message begins; called for these in their order
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
