import { messageId } from '#domain/message.ts';
import type { MessageStore } from '#domain/ports/message-store.ts';
import { splitText } from '#domain/split-text.ts';
import type { LookupSource, SourcedPassage } from './lookup.ts';

/**
 * The newest of a chat, whichever is reached first: 4 million characters take a second to index and some 80 MB, and
 * 2,000 messages of 2,000 characters are as many; a chat that was typed by people has fewer.
 */
const most = { messages: 2000, characters: 4_000_000 };

/** The messages of a chat before the turn that looks. */
export const messagePassages =
  (messages: () => Pick<MessageStore, 'range'>): LookupSource =>
  async ({ chat, signal }) => {
    const last = chat.messageCount;
    const passages: SourcedPassage[] = [];
    let searched = 0;
    let characters = 0;
    for await (const page of messages().range(chat, { first: 1, last, ascending: false })) {
      signal.throwIfAborted();
      for (const { message } of page) {
        const isTooMuch = characters + message.content.length > most.characters;
        if (searched === most.messages || isTooMuch)
          return { passages, note: `Only the newest ${searched} of ${last} earlier messages were searched` };
        searched += 1;
        characters += message.content.length;
        const source = {
          type: 'message',
          message_id: messageId(chat.id, message.position),
          role: message.role,
          created_at: message.createdAt,
        };
        for (const passage of splitText(message.content)) passages.push({ ...passage, source });
      }
    }
    return { passages };
  };
