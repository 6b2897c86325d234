import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import MiniSearch, { type AsPlainObject } from 'minisearch';
import type { PassageOfDocument, Scored } from '#domain/knowledge/knowledge.ts';
import type { KnowledgeChange } from '#domain/knowledge/knowledge-store.ts';
import { type IndexedPassage, indexOptions, newIndex, searchOptions } from './passage-index.ts';

/** The stored format. A reader rejects a version that it does not know. */
interface StoredIndex {
  version: typeof version;
  nextId: number;
  /** Document ids to names. */
  documents: Record<string, string>;
  passages: StoredPassage[];
  index: AsPlainObject;
}

type StoredPassage = [id: number, documentId: string, offset: number, page: number | null, text: string];

const version = 1;

/** About 20 times the largest possible index. The objects are our own; the limit still protects the reader's memory. */
const maxBytes = 512 * 1024 * 1024;

/** The searchable documents of a workspace. */
export class KnowledgeIndex {
  private readonly stored: Omit<StoredIndex, 'index'>;
  private readonly index: MiniSearch<IndexedPassage>;
  private readonly byId: Map<number, StoredPassage>;

  private constructor(stored: Omit<StoredIndex, 'index'>, index: MiniSearch<IndexedPassage>) {
    this.stored = stored;
    this.index = index;
    this.byId = new Map(stored.passages.map((passage) => [passage[0], passage]));
  }

  static empty(): KnowledgeIndex {
    return new KnowledgeIndex({ version, nextId: 0, documents: {}, passages: [] }, newIndex());
  }

  static async parse(object: Uint8Array): Promise<KnowledgeIndex> {
    const json = await promisify(gunzip)(object, { maxOutputLength: maxBytes });
    const { index, ...stored } = JSON.parse(json.toString('utf8')) as StoredIndex;
    if (stored.version !== version)
      throw new Error(
        `A stored knowledge index has version ${stored.version}, this program reads ${version}`,
      );
    // The asynchronous variant yields to the event loop.
    return new KnowledgeIndex(stored, await MiniSearch.loadJSAsync(index, indexOptions));
  }

  get isEmpty(): boolean {
    return this.stored.passages.length === 0;
  }

  /** @returns the compressed object; `bytes` is its uncompressed size */
  async serialize(): Promise<{ object: Uint8Array; bytes: number }> {
    const stored: StoredIndex = { ...this.stored, index: this.index.toJSON() };
    const json = Buffer.from(JSON.stringify(stored));
    return { object: await promisify(gzip)(json), bytes: json.length };
  }

  /** Returns the index after a change. Invalidates this index: both share data. */
  changed({ put, remove }: KnowledgeChange): KnowledgeIndex {
    const gone = new Set([...remove, ...put.map(({ document }) => document.id)]);
    const documents = Object.fromEntries(
      Object.entries(this.stored.documents).filter(([id]) => !gone.has(id)),
    );
    const passages: StoredPassage[] = [];
    for (const passage of this.stored.passages)
      if (gone.has(passage[1])) this.index.remove({ id: passage[0], text: passage[4] });
      else passages.push(passage);
    let { nextId } = this.stored;
    for (const { document, passages: added } of put) {
      documents[document.id] = document.name;
      for (const { text, offset, page } of added) {
        this.index.add({ id: nextId, text });
        passages.push([nextId, document.id, offset, page ?? null, text]);
        nextId += 1;
      }
    }
    return new KnowledgeIndex({ version, nextId, documents, passages }, this.index);
  }

  search(query: string, limit: number): Scored<PassageOfDocument>[] {
    return this.index
      .search(query, searchOptions)
      .slice(0, limit)
      .map(({ id, score }) => ({ found: this.passage(id as number), score }));
  }

  private passage(id: number): PassageOfDocument {
    const passage = this.byId.get(id);
    if (passage === undefined)
      throw new Error(`A knowledge index names a passage ${id} that it does not have`);
    const [, documentId, offset, page, text] = passage;
    const document = { id: documentId, name: this.stored.documents[documentId] ?? '' };
    return { text, offset, ...(page !== null && { page }), document };
  }
}
