import * as z from 'zod';
import { type Message, type MessageStore, messageId } from '#domain/chats/message.ts';
import { promptFilter } from '#domain/chats/turn.ts';
import type { AttachmentReader, StoredFile } from '#domain/files/files.ts';
import type { PassageRanking, SearchedText } from '#domain/knowledge/knowledge.ts';
import { type AgentTool, query, scoreOf, ToolFailure, type ToolUse } from './agent-tool.ts';

const config = z.strictObject({ max_results: z.int().min(1).max(20).default(5) });
const input = z.object({ query });

/** @throws ToolFailure without a chat */
type LookupSource = (
  use: Pick<ToolUse<unknown>, 'attachments' | 'chat' | 'signal'>,
) => Promise<{ texts: SourcedText[]; notes: string[] }>;

interface SourcedText extends SearchedText {
  source: Record<string, unknown>;
}

export const lookup = (
  source: LookupSource,
  ranking: PassageRanking,
): AgentTool<z.output<typeof config>, z.output<typeof input>> => ({
  type: 'consultant_lookup',
  searchesChat: true,
  description:
    'Search the earlier messages of this conversation, also those too old to be seen, and its attached files. Results name their source.',
  config,
  input: () => input,
  start: ({ query }) => ({ content: 'Looking through the conversation', args: { query } }),
  async run({ query }, use) {
    const searched = await source(use);
    const texts = searched.texts.map(({ source: _source, ...text }) => text);
    const best = await ranking.rank(
      use.agents[0].workspaceId,
      { texts, query, limit: use.config.max_results },
      use.signal,
    );
    const notes = [
      ...(best.length === 0 ? ['Nothing that was searched matches the query'] : []),
      ...searched.notes,
    ];
    return {
      data: {
        results: best.map(({ found: { text, textIndex, page }, score }) => ({
          text,
          source: { ...searched.texts[textIndex]?.source, ...(page !== undefined && { page }) },
          score: scoreOf(score),
        })),
        ...(notes.length > 0 && { note: notes.join('. ') }),
      },
    };
  },
});

/** Messages and files share the characters. */
const searchLimits = {
  messages: 2000,
  characters: 4_000_000,
  files: 200,
};

const namesShown = 10;

interface Services {
  attachments: () => AttachmentReader;
  messages: () => Pick<MessageStore, 'range'>;
}

/** Messages that `promptFilter` leaves out of prompts are not searched. */
export const chatTexts =
  (services: Services): LookupSource =>
  async ({ chat, attachments, signal }) => {
    if (chat === null) throw new ToolFailure('There is no chat to search');
    const last = chat.messageCount;
    const search = chatSearch(chat.id, services.attachments, signal);
    await search.addFiles(attachments);
    const isInPrompt = promptFilter();
    for await (const page of services.messages().range(chat, { first: 1, last, ascending: false }))
      for (const { message } of page.filter((rated) => isInPrompt(rated.message))) {
        signal.throwIfAborted();
        if (!search.addMessage(message))
          return { texts: search.texts, notes: [...search.notesOnFiles(), search.noteOnMessages(last)] };
        if (message.role === 'user') await search.addFiles(message.attachments);
      }
    return { texts: search.texts, notes: search.notesOnFiles() };
  };

function chatSearch(chatId: number, attachments: Services['attachments'], signal: AbortSignal) {
  const texts: SourcedText[] = [];
  const tooLong: string[] = [];
  const filesSeen = new Set<string>();
  let charactersLeft = searchLimits.characters;
  let searched = 0;
  const addFile = async (file: StoredFile): Promise<void> => {
    const content = await attachments().read(file, { whole: charactersLeft, start: 0 }, signal);
    if (content.type === 'beginning') tooLong.push(JSON.stringify(file.name));
    if (content.type !== 'text') return;
    charactersLeft -= content.text.length;
    const { text, pageOffsets } = content;
    texts.push({ text, pageOffsets, source: { type: 'file', file_uuid: file.uuid, name: file.name } });
  };
  return {
    texts,

    async addFiles(files: readonly StoredFile[]): Promise<void> {
      for (const file of files.filter(({ uuid }) => !filesSeen.has(uuid))) {
        filesSeen.add(file.uuid);
        if (filesSeen.size <= searchLimits.files) await addFile(file);
      }
    },

    addMessage(message: Message): boolean {
      if (searched === searchLimits.messages || message.content.length > charactersLeft) return false;
      searched += 1;
      charactersLeft -= message.content.length;
      const source = {
        type: 'message',
        message_id: messageId(chatId, message.position),
        role: message.role,
        created_at: message.createdAt,
      };
      texts.push({ text: message.content, source });
      return true;
    },

    noteOnMessages: (total: number): string =>
      `Only the newest ${searched} of ${total} earlier messages were searched`,

    notesOnFiles(): string[] {
      const named = tooLong.slice(0, namesShown).map((name) => `${name} was not searched: it is too long`);
      const unnamed = tooLong.length - named.length;
      return [
        ...named,
        ...(unnamed > 0 ? [`${unnamed} more files were not searched: they are too long`] : []),
        ...(filesSeen.size > searchLimits.files
          ? [`Of ${filesSeen.size} files only the newest ${searchLimits.files} were searched`]
          : []),
      ];
    },
  };
}
