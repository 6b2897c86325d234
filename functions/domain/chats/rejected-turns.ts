import type { Reply } from './gather-reply.ts';
import type { AssistantMessage, Message } from './message.ts';
import type { ChatServices } from './services.ts';
import type { Turn } from './turn.ts';

/**
 * What a reply stores if the provider has rejected the content of its turn: how many turns in a row were rejected by
 * then, this one included. That is a read more, for such a turn alone.
 */
export async function rejectedTurnsOf(
  { messages }: Pick<ChatServices, 'messages'>,
  { chat, position }: Pick<Turn, 'chat' | 'position'>,
  { isContentRejected }: Reply,
): Promise<Pick<AssistantMessage, 'rejectedTurns'>> {
  if (!isContentRejected) return {};
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
 * such as a wrong key that a provider answers with status 400.
 */
export function promptFilter(): (message: Pick<Message, 'position'> & { rejectedTurns?: number }) => boolean {
  let firstOfRun = Number.POSITIVE_INFINITY;
  let isInPrompt = true;
  return ({ position, rejectedTurns = 0 }) => {
    if (position < firstOfRun) {
      isInPrompt = rejectedTurns % 2 === 0;
      firstOfRun = position + 1 - 2 * rejectedTurns;
    }
    return isInPrompt;
  };
}
