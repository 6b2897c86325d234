import type { WebSearch } from '#domain/agents/web-search.ts';
import { environment } from '#runtime/environment/environment.ts';

/** The search provider in the stage's settings; null if there is none. */
export function makeWebSearch(): WebSearch | null {
  const provider = environment('webSearchProvider');
  if (provider === undefined) return null;
  return {
    search: async (query, count, signal) =>
      (await import('./tool-adapters.ts')).webSearchWith(provider).search(query, count, signal),
  };
}
