import type { AgentStore } from './agent-store.ts';
import type { WebPages } from './web-pages.ts';
import type { WebSearch } from './web-search.ts';

export interface AgentServices {
  agents: AgentStore;
  webPages: WebPages;
  /** Null if the stage has no search provider. */
  webSearch: WebSearch | null;
}
