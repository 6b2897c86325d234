import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { AgentReader, AgentStore } from './agent-store.ts';
import type { WebPages } from './web-pages.ts';
import type { WebSearch } from './web-search.ts';

export interface AgentServices extends WorkspaceServices {
  agents: AgentReader;
  webPages: WebPages;
  /** Null if the stage has no search provider. */
  webSearch: WebSearch | null;
}

/** What only operators' commands use. */
export interface AgentEditing {
  agents: AgentStore;
}

/** What a use case needs of them. */
export type Services<Name extends keyof AgentServices> = Pick<AgentServices, Name>;
