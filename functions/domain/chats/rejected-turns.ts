import type { Chat } from './chat.ts';
import type { Reply } from './gather-reply.ts';
import { type AssistantMessage, isReplyPosition, type Message } from './message.ts';
import type { Services } from './services.ts';

/** What a reply stores. The number of earlier turns is read for a rejected turn alone. */
export async function rejectedTurnsOf(
  { messages }: Services<'messages'>,
  { chat, position }: { chat: Chat; position: number },
  { rejected }: Reply,
): Promise<Pick<AssistantMessage, 'rejectedTurns'>> {
  if (rejected === null) return {};
  if (rejected === 'earlier-turns') return { rejectedTurns: 0 };
  let rejectedTurns = 1;
  const previous = { first: position - 1, last: position - 1, ascending: true };
  for await (const page of messages.range(chat, previous))
    for (const { message } of page)
      if (message.role === 'assistant') rejectedTurns += message.rejectedTurns ?? 0;
  return { rejectedTurns };
}

/**
 * Returns a function that says of each message of a chat, newest first, whether prompts contain it. Of an odd number of
 * turns in a row that were rejected, they contain none: one image that no model reads must not end the chat. Of an even
 * number they contain all: the last of these turns was rejected without the ones before, so the reason was another one,
 * such as a wrong key that a provider answers with status 400. They contain none if the next turn was taken only without
 * them.
 */
export function promptFilter(): (message: Pick<Message, 'position'> & { rejectedTurns?: number }) => boolean {
  let firstOfRun = Number.POSITIVE_INFINITY;
  let isInPrompt = true;
  let isNextWithout = false;
  return ({ position, rejectedTurns }) => {
    if (position >= firstOfRun) return isInPrompt;
    const turns = rejectedTurns ?? 0;
    isInPrompt = turns === 0 || (turns % 2 === 0 && !isNextWithout);
    firstOfRun = position + 1 - 2 * turns;
    if (isReplyPosition(position)) isNextWithout = rejectedTurns === 0;
    return isInPrompt;
  };
}
