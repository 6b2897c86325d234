/** A document that a workspace's agents can search. Operators add it. */
export interface KnowledgeDocument {
  id: string;
  /** Unique in the workspace: adding a document of the same name replaces this one. */
  name: string;
  contentType: string;
  /** Size of the file. */
  bytes: number;
  characters: number;
  /** Size of the text as UTF-8. The workspace's limit counts it. */
  textBytes: number;
  passages: number;
  addedAt: string;
}

/** A part of a text: the unit that is searched and that a model reads. */
export interface Passage {
  text: string;
  /** Where it starts in the text, in UTF-16 code units. */
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
   * A function loads the whole index of a workspace. 10 MB of text, about 5,000 pages, make an index of 26 to 32 MB.
   * Loading it takes 1 s of processor time and up to 400 MB of the function's 1,024 MB; afterwards it takes about 240
   * MB. For more text, use a Bedrock knowledge base.
   */
  textBytes: 10 * 1024 * 1024,
  /** The same as for chat names. */
  nameCharacters: 256,
  /**
   * A transaction has at most 100 writes: one per document, one for the head, two for the audit. The rest is reserve.
   */
  documentsAtOnce: 50,
} as const;
