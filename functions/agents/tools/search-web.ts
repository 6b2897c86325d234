import * as z from 'zod';
import type { WebSearch } from '#domain/agents/agents.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { type AgentTool, ToolFailure } from './agent-tool.ts';

const maxResultsLimit = 10;
const config = z.strictObject({ max_results: z.int().min(1).max(maxResultsLimit).default(5) });

const inputUpTo = (maxResults: number) =>
  z.object({
    // 400 characters are Brave's limit.
    query: z.string().trim().min(1).max(400).describe('What to search for, as one would type it.'),
    count: z
      .int()
      .min(1)
      .max(maxResults)
      .optional()
      .describe(`How many results; ${maxResults} unless given.`),
  });

/** One object for each value, because JSON Schemas are cached by object. */
const inputs = Array.from({ length: maxResultsLimit }, (_each, index) => inputUpTo(index + 1));

type Input = z.output<ReturnType<typeof inputUpTo>>;

export const searchWeb = (search: () => WebSearch | null): AgentTool<z.output<typeof config>, Input> => ({
  type: 'consultant_search_web',
  description: 'Search the web. Gives titles, addresses and short extracts of the pages found.',
  config,
  input: ({ max_results }) => inputs[max_results - 1] ?? inputUpTo(max_results),
  isAvailable: () => search() !== null,
  start: ({ query, count }) => ({
    content: `Searching the web for: ${query}`,
    args: { query, ...(count !== undefined && { count }) },
  }),
  async run({ query, count }, use) {
    try {
      return { data: (await search()?.search(query, count ?? use.config.max_results, use.signal)) ?? [] };
    } catch (error) {
      if (error instanceof OutboundFailure)
        throw new ToolFailure(`The search failed. ${error.message}`, { cause: error });
      throw error;
    }
  },
});
