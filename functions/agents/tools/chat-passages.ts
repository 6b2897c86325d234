import { type Message, messageId } from '#domain/chats/message.ts';
import type { MessageStore } from '#domain/chats/message-store.ts';
import type { AttachmentReader } from '#domain/files/attachment-reader.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { splitText } from '#domain/knowledge/split-text.ts';
import type { LookupSource, SourcedPassage } from './lookup.ts';

/**
 * A search covers the newest messages and files of a chat, up to the limit that is reached first. To index 4 million
 * characters takes 1 s and about 80 MB; 2,000 messages of 2,000 characters have as many. Chats typed by people are
 * smaller.
 */
const searchLimits = {
  messages: 2000,
  characters: 4_000_000,
  /** The files are read one after another, a round trip each: some seconds in all. */
  files: 200,
};

/** Files that a note names as not searched: enough to explain why a text is not found. */
const namesShown = 10;

interface Services {
  attachments: () => AttachmentReader;
  messages: () => Pick<MessageStore, 'range'>;
}

/** Passages of this turn's files, then of the chat's earlier messages with their files, newest first. */
export const chatPassages =
  (services: Services): LookupSource =>
  async ({ chat, attachments, signal }) => {
    const last = chat.messageCount;
    const passages: SourcedPassage[] = [];
    const tooLong: string[] = [];
    const filesSeen = new Set<string>();
    let charactersLeft = searchLimits.characters;
    let searched = 0;

    const addFiles = async (files: readonly StoredFile[]): Promise<void> => {
      for (const file of files.filter(({ uuid }) => !filesSeen.has(uuid))) {
        filesSeen.add(file.uuid);
        if (filesSeen.size > searchLimits.files) continue;
        const bounds = { whole: charactersLeft, start: 0 };
        const content = await services.attachments().read(file, bounds, signal);
        if (content.type === 'beginning') tooLong.push(JSON.stringify(file.name));
        if (content.type !== 'text') continue;
        charactersLeft -= content.text.length;
        const source = { type: 'file', file_uuid: file.uuid, name: file.name };
        for (const { text, offset, page } of splitText(content.text, content.pageOffsets))
          passages.push({ text, offset, source: { ...source, ...(page !== undefined && { page }) } });
      }
    };
    /** Returns false if a limit is reached. */
    const addMessage = (message: Message): boolean => {
      if (searched === searchLimits.messages || message.content.length > charactersLeft) return false;
      searched += 1;
      charactersLeft -= message.content.length;
      const source = {
        type: 'message',
        message_id: messageId(chat.id, message.position),
        role: message.role,
        created_at: message.createdAt,
      };
      for (const passage of splitText(message.content)) passages.push({ ...passage, source });
      return true;
    };

    await addFiles(attachments);
    for await (const page of services.messages().range(chat, { first: 1, last, ascending: false }))
      for (const { message } of page) {
        signal.throwIfAborted();
        if (!addMessage(message))
          return {
            passages,
            notes: [
              ...notesOn(tooLong, filesSeen.size),
              `Only the newest ${searched} of ${last} earlier messages were searched`,
            ],
          };
        if (message.role === 'user') await addFiles(message.attachments);
      }
    return { passages, notes: notesOn(tooLong, filesSeen.size) };
  };

function notesOn(tooLong: readonly string[], files: number): string[] {
  const named = tooLong.slice(0, namesShown).map((name) => `${name} was not searched: it is too long`);
  const unnamed = tooLong.length - named.length;
  return [
    ...named,
    ...(unnamed > 0 ? [`${unnamed} more files were not searched: they are too long`] : []),
    ...(files > searchLimits.files
      ? [`Of ${files} files only the newest ${searchLimits.files} were searched`]
      : []),
  ];
}
