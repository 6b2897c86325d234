import type { KnowledgeBase } from './knowledge-base.ts';
import type { KnowledgeStore } from './knowledge-store.ts';

export interface KnowledgeServices {
  knowledge: KnowledgeStore;
  knowledgeBase: KnowledgeBase;
}
