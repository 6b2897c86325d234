import type { KnowledgeDocument, Passage, PassageOfDocument, Scored } from './knowledge.ts';

export interface KnowledgeChange {
  /** Replaces a document that has the same id. */
  put: { document: KnowledgeDocument; passages: readonly Passage[] }[];
  /** Ids of documents. */
  remove: string[];
}

export interface KnowledgeStore {
  /** Sorted by name. */
  list(workspaceId: string): Promise<KnowledgeDocument[]>;
  /**
   * Changes a workspace's documents, all or none.
   * @param decide returns the change to the given documents; called again if another change was stored in between
   */
  change(
    workspaceId: string,
    decide: (documents: readonly KnowledgeDocument[]) => KnowledgeChange,
  ): Promise<void>;
  /**
   * The best matching passages, best first.
   * @returns undefined if the workspace has no documents
   */
  search(workspaceId: string, query: string, limit: number): Promise<Scored<PassageOfDocument>[] | undefined>;
}
