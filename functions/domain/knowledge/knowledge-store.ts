import type { KnowledgeDocument, Passage, PassageOfDocument, Scored } from './knowledge.ts';

export interface KnowledgeChange {
  /** A document that is there already is replaced. */
  put: { document: KnowledgeDocument; passages: readonly Passage[] }[];
  /** Ids. */
  remove: string[];
}

export interface KnowledgeStore {
  /** By name. */
  list(workspaceId: string): Promise<KnowledgeDocument[]>;
  /**
   * Changes what the workspace knows: all of it, or nothing.
   * @param decide from what is there; asked again when someone else changes it in between
   */
  change(
    workspaceId: string,
    decide: (documents: readonly KnowledgeDocument[]) => KnowledgeChange,
  ): Promise<void>;
  /**
   * The passages that answer a query best, best first.
   * @returns undefined when the workspace has no documents
   */
  search(workspaceId: string, query: string, most: number): Promise<Scored<PassageOfDocument>[] | undefined>;
}
