import * as z from 'zod';
import type { PassageRanking, SearchedText } from '#domain/knowledge/passage-ranking.ts';
import type { AgentTool, ToolUse } from './agent-tool.ts';
import { query, scoreOf } from './query.ts';

const config = z.strictObject({ max_results: z.int().min(1).max(20).default(5) });
const input = z.object({ query });

/** Returns the searchable texts of one part of a chat, such as its messages. */
export type LookupSource = (
  use: Pick<ToolUse<unknown>, 'attachments' | 'chat' | 'signal'>,
) => Promise<SearchResult>;

export interface SearchResult {
  texts: SourcedText[];
  /** Notes for the model on what was not searched. */
  notes: string[];
}

export interface SourcedText extends SearchedText {
  /** Where the text is from; becomes `source` of the result, with the page. */
  source: Record<string, unknown>;
}

/** Searches messages and files of the chat, including messages that are no longer in the prompt. */
export const lookup = (
  sources: readonly LookupSource[],
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
    const found = await Promise.all(sources.map((source) => source(use)));
    const sourced = found.flatMap(({ texts }) => texts);
    const texts = sourced.map(({ source: _source, ...searched }) => searched);
    const best = await ranking.rank(
      use.agents[0].workspaceId,
      { texts, query, limit: use.config.max_results },
      use.signal,
    );
    const notes = [
      ...(best.length === 0 ? ['Nothing that was searched matches the query'] : []),
      ...found.flatMap((source) => source.notes),
    ];
    return {
      data: {
        results: best.map(({ found: { text, textIndex, page }, score }) => ({
          text,
          source: { ...sourced[textIndex]?.source, ...(page !== undefined && { page }) },
          score: scoreOf(score),
        })),
        ...(notes.length > 0 && { note: notes.join('. ') }),
      },
    };
  },
});
