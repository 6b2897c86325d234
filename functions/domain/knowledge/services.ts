import type { AgentServices } from '#domain/agents/services.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { KnowledgeBase } from './knowledge-base.ts';
import type { KnowledgeStore } from './knowledge-store.ts';

export interface KnowledgeServices extends AgentServices, FileServices {
  knowledge: KnowledgeStore;
  knowledgeBase: KnowledgeBase;
}

/** What a use case needs of them. */
export type Services<Name extends keyof KnowledgeServices> = Pick<KnowledgeServices, Name>;
