import { type Message, messageId } from '#domain/chats/message.ts';
import type { MessageStore } from '#domain/chats/message-store.ts';
import type { AttachmentReader } from '#domain/files/attachment-reader.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { splitText } from '#domain/knowledge/split-text.ts';
import type { LookupSource, SourcedPassage } from './lookup.ts';

/**
 * The newest of a chat, whichever is reached first: 4 million characters take a second to index and some 80 MB, and
 * 2,000 messages of 2,000 characters are as many; a chat that was typed by people has fewer.
 */
const most = {
  messages: 2000,
  characters: 4_000_000,
  /** Each costs a round trip, one after another: some seconds in all. */
  files: 200,
};

/** Of files that were not searched: enough to see why a text is not found. */
const namesShown = 10;

interface Services {
  attachments: () => AttachmentReader;
  messages: () => Pick<MessageStore, 'range'>;
}

/** The files of this turn, and the messages of a chat before it with theirs, newest first. */
export const chatPassages =
  (services: Services): LookupSource =>
  async ({ chat, attachments, signal }) => {
    const last = chat.messageCount;
    const passages: SourcedPassage[] = [];
    const tooLong: string[] = [];
    const filesSeen = new Set<string>();
    let charactersLeft = most.characters;
    let searched = 0;

    const addFiles = async (files: readonly StoredFile[]): Promise<void> => {
      for (const file of files.filter(({ uuid }) => !filesSeen.has(uuid))) {
        filesSeen.add(file.uuid);
        if (filesSeen.size > most.files) continue;
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
    /** False when there is no room left for it. */
    const addMessage = (message: Message): boolean => {
      if (searched === most.messages || message.content.length > charactersLeft) return false;
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
  const untold = tooLong.length - named.length;
  return [
    ...named,
    ...(untold > 0 ? [`${untold} more files were not searched: they are too long`] : []),
    ...(files > most.files ? [`Of ${files} files only the newest ${most.files} were searched`] : []),
  ];
}
