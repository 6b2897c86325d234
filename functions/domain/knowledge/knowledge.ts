import type { AgentServices } from '#domain/agents/agents.ts';
import type { FileServices } from '#domain/files/files.ts';

export interface KnowledgeDocument {
  id: string;
  /** Unique in the workspace. */
  name: string;
  contentType: string;
  bytes: number;
  /** In UTF-16 code units. */
  characters: number;
  textBytes: number;
  passages: number;
  addedAt: string;
}

export interface Passage {
  text: string;
  /** Where the passage starts in the whole text, in UTF-16 code units. */
  offset: number;
  /** Counted from 1; absent if the text has no pages. */
  page?: number;
}

export interface PassageOfDocument extends Passage {
  document: Pick<KnowledgeDocument, 'id' | 'name'>;
}

/** Scores are comparable only within one result list. */
export interface Scored<Found> {
  found: Found;
  score: number;
}

export const knowledgeLimits = {
  /**
   * A function loads the whole index of a workspace. For 10 MB of text, this takes about 1 s of processor time and up
   * to about 400 MB of memory.
   */
  textBytes: 10 * 1024 * 1024,
  /** The same limit as for names of chats. */
  nameCharacters: 256,
  /** A change is one transaction, which has at most 100 writes: one for each document, and a few more. */
  documentsAtOnce: 50,
} as const;

export interface KnowledgeChange {
  put: { document: KnowledgeDocument; passages: readonly Passage[] }[];
  remove: string[];
}

export interface KnowledgeStore {
  /** Sorted by name. */
  list(workspaceId: string): Promise<KnowledgeDocument[]>;
  /**
   * All or none.
   * @param decide may be called several times. If it throws, nothing changes
   */
  change(
    workspaceId: string,
    decide: (documents: readonly KnowledgeDocument[]) => KnowledgeChange,
  ): Promise<void>;
  /** Best first; undefined if the workspace has no documents. */
  search(workspaceId: string, query: string, limit: number): Promise<Scored<PassageOfDocument>[] | undefined>;
}

export type KnowledgeBaseFailureReason = 'notAllowed' | 'notFound' | 'busy' | 'refused';

export class KnowledgeBaseFailure extends Error {
  override readonly name = 'KnowledgeBaseFailure';
  readonly kind: KnowledgeBaseFailureReason;

  constructor(kind: KnowledgeBaseFailureReason, options?: ErrorOptions) {
    super(`The knowledge base gave nothing: ${kind}`, options);
    this.kind = kind;
  }
}

export interface KnowledgeBase {
  /** @throws KnowledgeBaseFailure; the signal's reason */
  retrieve(
    request: { knowledgeBaseId: string; query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Scored<{ text: string; source: Record<string, string | number> }>[]>;
}

export interface SearchedText {
  text: string;
  pageOffsets?: readonly number[];
}

export interface PassageOfText extends Passage {
  textIndex: number;
}

export interface PassageRanking {
  /** Best first. Leaves out passages without any match. */
  rank(
    workspaceId: string,
    search: { texts: readonly SearchedText[]; query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Scored<PassageOfText>[]>;
}

export interface KnowledgeServices extends AgentServices, FileServices {
  knowledge: KnowledgeStore;
  knowledgeBase: KnowledgeBase;
}

export type Services<Name extends keyof KnowledgeServices> = Pick<KnowledgeServices, Name>;
