import type { Message } from '#domain/chats/message.ts';
import { promptFilter } from '#domain/chats/rejected-turns.ts';

/** As `MessageStore.recent` says. */
const most = { messages: 1000, stepCharacters: 1_000_000 };

/** The messages of a window, oldest first. */
export function newestMessages(newestFirst: readonly Message[], characters: number): Message[] {
  const window: Message[] = [];
  const left = { characters, stepCharacters: most.stepCharacters };
  const isInPrompt = promptFilter();
  for (const [index, message] of newestFirst.entries()) {
    const isWithin = index < most.messages;
    if (isWithin && !isInPrompt(message)) continue;
    left.characters -= message.content.length;
    if (left.characters < 0 || !isWithin) return window[0]?.role === 'assistant' ? window.slice(1) : window;
    window.unshift(withinSteps(message, left));
  }
  return window;
}

/** The first message whose steps are too many, and all before it, have none. */
function withinSteps(message: Message, left: { stepCharacters: number }): Message {
  if (message.role === 'user' || message.reasoningSteps.length === 0) return message;
  const { length } = JSON.stringify(message.reasoningSteps);
  const isWithin = length <= left.stepCharacters;
  left.stepCharacters = isWithin ? left.stepCharacters - length : 0;
  return isWithin ? message : { ...message, reasoningSteps: [] };
}
