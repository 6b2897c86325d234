/** What operators give a workspace's agents to look things up in. */
export interface KnowledgeDocument {
  id: string;
  /** Unique in the workspace: adding one of the same name replaces it. */
  name: string;
  contentType: string;
  /** Of the file. */
  bytes: number;
  characters: number;
  /** Of the text as UTF-8: what the workspace's limit counts. */
  textBytes: number;
  passages: number;
  addedAt: string;
}

/** A piece of a text: what is searched, and what a model reads. */
export interface Passage {
  text: string;
  /** Where it begins in the text, in UTF-16 units. */
  offset: number;
  /** From 1, in a text that has pages. */
  page?: number;
}

export interface PassageOfDocument extends Passage {
  document: Pick<KnowledgeDocument, 'id' | 'name'>;
}

/** How well something answers a query: comparable inside one answer alone. */
export interface Scored<Found> {
  found: Found;
  score: number;
}

export const knowledgeLimits = {
  /**
   * A function reads the whole index of a workspace: 10 MB of text make one of 26 to 32 MB, which takes a second of
   * processor time and up to 400 of its 1,024 MB to load, and holds some 240 then. That is 5,000 pages; a Bedrock
   * knowledge base holds more.
   */
  textBytes: 10 * 1024 * 1024,
  /** As chats. */
  nameCharacters: 256,
  /** A transaction has 100 writes, one of them the head's; the other half is room. */
  documentsAtOnce: 50,
} as const;
