import type { WebSearch } from '#domain/agents/web-search.ts';
import { environment } from '#runtime/environment/environment.ts';

/** The provider that the stage names; null when it names none. */
export function makeWebSearch(): WebSearch | null {
  const provider = environment('webSearchProvider');
  if (provider === undefined) return null;
  return {
    search: async (query, count, signal) =>
      (await import('./tool-adapters.ts')).webSearchWith(provider).search(query, count, signal),
  };
}
