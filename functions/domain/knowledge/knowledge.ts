import type { AgentServices } from '#domain/agents/agents.ts';
import type { FileServices } from '#domain/files/services.ts';

/** A document that a workspace's agents can search. Operators add it. */
export interface KnowledgeDocument {
  id: string;
  /** Unique in the workspace: adding a document of the same name replaces this one. */
  name: string;
  contentType: string;
  bytes: number;
  /** Length of the text, in UTF-16 code units. */
  characters: number;
  /** Size of the text as UTF-8. The workspace's limit counts it. */
  textBytes: number;
  passages: number;
  addedAt: string;
}

/** A part of a text: the unit that is searched and that a model reads. */
export interface Passage {
  text: string;
  /** The offset in the text at which the passage starts, in UTF-16 code units. */
  offset: number;
  /** Counted from 1; absent if the text has no pages. */
  page?: number;
}

export interface PassageOfDocument extends Passage {
  document: Pick<KnowledgeDocument, 'id' | 'name'>;
}

/** How well something matches a query. Scores are comparable only within one result list. */
export interface Scored<Found> {
  found: Found;
  score: number;
}

export const knowledgeLimits = {
  /**
   * A function loads the whole index of a workspace. For 10 MB of text, this takes about 1 s of processor time and up
   * to about 400 MB of memory. For more text, use a Bedrock knowledge base.
   */
  textBytes: 10 * 1024 * 1024,
  /** The same limit as for names of chats. */
  nameCharacters: 256,
  /** A change is one transaction, which has at most 100 writes: one for each document, and a few others. */
  documentsAtOnce: 50,
} as const;

export interface KnowledgeChange {
  /** Documents to add. Each replaces the document that has the same id. */
  put: { document: KnowledgeDocument; passages: readonly Passage[] }[];
  /** Ids of documents to remove. */
  remove: string[];
}

export interface KnowledgeStore {
  /** Sorted by name. */
  list(workspaceId: string): Promise<KnowledgeDocument[]>;
  /**
   * Changes a workspace's documents, all or none.
   * @param decide gets the documents as they are and returns the change; it is called again if the write failed, for
   *   example because another change was stored meanwhile. If it throws, nothing changes
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

interface KnowledgeBasePassage {
  text: string;
  /** Where the passage comes from, as the knowledge base reports it: a type, a URI, a page. */
  source: Record<string, string | number>;
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

/** Knowledge outside this service, in Amazon Bedrock. */
export interface KnowledgeBase {
  /** @throws KnowledgeBaseFailure */
  retrieve(
    request: { knowledgeBaseId: string; query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Scored<KnowledgeBasePassage>[]>;
}

export interface SearchedText {
  text: string;
  /** Where each page starts, in ascending order. */
  pageOffsets?: readonly number[];
}

export interface PassageOfText extends Passage {
  /** Index of the text that contains the passage. */
  textIndex: number;
}

export interface PassageRanking {
  /** The best matching passages of the texts, best first. Leaves out passages without any match. */
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

/** The named services: those that a use case needs. */
export type Services<Name extends keyof KnowledgeServices> = Pick<KnowledgeServices, Name>;
