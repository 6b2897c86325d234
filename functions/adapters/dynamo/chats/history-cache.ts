import type { Chat } from '#domain/chats/chat.ts';
import type { Message, MessageStore } from '#domain/chats/message.ts';
import { promptFilter } from '#domain/chats/turn.ts';
import { recentlyUsed } from '#domain/platform/recently-used.ts';
import type { Clock } from '#domain/platform/services.ts';
import { wholeTurns } from './message-store.ts';

/** Of all cached messages. A character takes one or two bytes. */
const mostCharacters = 8_000_000;

/** With this bound, a cached history stays below `messagesOfWindow` and `stepsOfWindow` of the message store. */
const mostCharactersOfChat = 250_000;

const charactersOfAttributes = 500;

const pause = 60_000;

/**
 * Adds a cache to `store`. A cached history that has what a prompt needs is not read again: positions have no gaps, and
 * messages never change. If it lacks the last messages, as when several environments serve a chat, the read begins
 * later than without a cache, so the cache pauses.
 */
export function historyCache(store: MessageStore, clock: Clock) {
  const cached = recentlyUsed<{ messages: readonly Message[]; characters: number }>(mostCharacters);
  let pausedUntil = 0;

  const isPaused = () => clock.now().getTime() < pausedUntil;
  const startPause = () => {
    pausedUntil = clock.now().getTime() + pause;
    cached.clear();
  };
  const cache = (name: string, messages: readonly Message[], characters: number) => {
    if (isPaused() || characters > mostCharactersOfChat) cached.remove(name);
    else cached.set(name, { messages, characters }, characters);
  };
  const add = (name: string, message: Message) => {
    const { messages, characters } = cached.get(name) ?? { messages: [], characters: 0 };
    const isNext = message.position === (messages.at(-1)?.position ?? 0) + 1;
    if (isNext) cache(name, [...messages, message], characters + charactersOf(message));
    else cached.remove(name);
  };
  /** Unless `storing` has stored the message, the table may have one that the cache lacks. */
  const storeThrough = async <Outcome>(
    chat: Chat,
    message: Message,
    storing: Promise<Outcome>,
  ): Promise<Outcome> => {
    let isStored = false;
    try {
      const outcome = await storing;
      isStored = outcome === true || outcome === 'stored';
      return outcome;
    } finally {
      if (isStored) add(nameOf(chat), message);
      else cached.remove(nameOf(chat));
    }
  };

  const read: MessageStore['recent'] = async (chat, ...window) => {
    const messages = await store.recent(chat, ...window);
    const characters = messages.reduce((total, message) => total + charactersOf(message), 0);
    // Prompts may leave out the last turns, if the provider has rejected them. A history without them is not cached:
    // messages would seem to be missing.
    if (messages.length > 0 && messages.at(-1)?.position === (await window[0]))
      cache(nameOf(chat), messages, characters);
    return messages;
  };

  const messages: MessageStore = {
    ...store,
    put: (chat, message) => storeThrough(chat, message, store.put(chat, message)),
    putWithKey: (chat, message, key) => storeThrough(chat, message, store.putWithKey(chat, message, key)),
    putAndRelease: (chat, leaseId, message) =>
      storeThrough(chat, message, store.putAndRelease(chat, leaseId, message)),
    async recent(chat, upTo, characters) {
      const name = nameOf(chat);
      if (!cached.has(name)) return read(chat, upTo, characters);
      const last = await upTo;
      // The reply of the previous turn may have been cached during this wait.
      const messages = cached.get(name)?.messages;
      if (messages === undefined) return read(chat, last, characters);
      const history = newestOf(messages, last, characters);
      if (history !== undefined) return history;
      if (last > (messages.at(-1)?.position ?? 0)) startPause();
      return read(chat, last, characters);
    },
  };

  return {
    messages,
    /** Caches an empty history: the chat must be new. */
    addNewChat: (chat: Chat) => cache(nameOf(chat), [], charactersOfAttributes),
  };
}

const nameOf = ({ workspaceId, id }: Pick<Chat, 'workspaceId' | 'id'>): string => `${workspaceId} ${id}`;

const charactersOf = (message: Message): number =>
  charactersOfAttributes +
  message.content.length +
  (message.role === 'assistant'
    ? JSON.stringify(message.reasoningSteps).length
    : message.attachments.length * charactersOfAttributes);

/** @returns undefined if the cache may lack messages that the prompt needs */
function newestOf(messages: readonly Message[], last: number, characters: number): Message[] | undefined {
  const end = messages.findIndex(({ position }) => position === last) + 1;
  let left = characters;
  const isTooOld = ({ content }: Message) => {
    left -= content.length;
    return left < 0;
  };
  const inPrompt = messages.slice(0, end).reverse().filter(promptFilter()).reverse();
  const first = inPrompt.findLastIndex(isTooOld) + 1;
  const isWhole = first > 0 || messages[0]?.position === 1;
  return end > 0 && isWhole ? wholeTurns(inPrompt.slice(first)) : undefined;
}
