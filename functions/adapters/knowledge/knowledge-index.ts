import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { S3Client } from '@aws-sdk/client-s3';
import MiniSearch, { type AsPlainObject, type Options, type SearchOptions } from 'minisearch';
import { bucketObjects, objectCache } from '#adapters/s3-objects.ts';
import { splitText } from '#domain/knowledge/documents.ts';
import type {
  KnowledgeChange,
  PassageOfDocument,
  PassageOfText,
  Scored,
  SearchedText,
} from '#domain/knowledge/knowledge.ts';

const words = /[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu;

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30FC]+/gu;

/** Of Latin, Greek and Cyrillic letters. The vowel signs of other scripts are not in this range. */
const accents = /[\u0300-\u036F]/g;

/** Longer terms are left out: most are encoded data, for which nobody searches. */
const termCharacters = 64;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * `Intl.Segmenter` finds the words in scripts without spaces. For other scripts it is not used, because it is much
 * slower.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  const plain = text.normalize('NFKD').replaceAll(accents, '').normalize('NFC').toLowerCase();
  const hasUnspaced = plain.search(unspaced) >= 0;
  for (const word of plain.match(words) ?? []) {
    if (!hasUnspaced) {
      push(terms, word);
      continue;
    }
    let end = 0;
    for (const run of word.matchAll(unspaced)) {
      push(terms, word.slice(end, run.index));
      for (const { segment } of segmenter.segment(run[0])) push(terms, segment);
      end = run.index + run[0].length;
    }
    push(terms, word.slice(end));
  }
  return terms;
}

function push(terms: string[], term: string): void {
  if (term !== '' && term.length <= termCharacters) terms.push(term);
}

/** Each index object is written once, under a unique name, and never changes. */
export interface IndexObjects {
  put(workspaceId: string, object: Uint8Array): Promise<string>;
  /** @returns undefined if the object was deleted */
  get(name: string): Promise<Uint8Array | undefined>;
  delete(name: string): Promise<void>;
}

export function s3IndexObjects(client: S3Client, bucket: string): IndexObjects {
  const objects = bucketObjects(client, bucket);
  return {
    async put(workspaceId, object) {
      const name = `knowledge/${workspaceId}/${randomUUID()}`;
      await objects.put(name, object, 'application/gzip');
      return name;
    },
    get: async (name) => (await objects.get(name))?.Body?.transformToByteArray(),
    delete: objects.delete,
  };
}

interface IndexedPassage {
  id: number;
  text: string;
}

/** A stored index must be read with the same options. */
const indexOptions: Options<IndexedPassage> = {
  fields: ['text'],
  tokenize: termsOf,
  processTerm: (term) => term,
};

/** For each term, MiniSearch lists all passages that match: 32 dissimilar terms in 15,000 passages may take 150 MB. */
const mostQueryTerms = 32;

const queryTerms = (query: string): string[] => [...new Set(termsOf(query))].slice(0, mostQueryTerms);

/** A shorter term would match too many others. */
const minPrefixCharacters = 4;
const minFuzzyCharacters = 6;

/** `holiday` finds `holidays`, and the other way round. */
const searchOptions: SearchOptions = {
  tokenize: queryTerms,
  prefix: (term) => hasPrefix(term),
  fuzzy: (term) => (isFuzzy(term) ? fuzziness : false),
};

const fuzziness = 0.2;
const hasPrefix = (term: string): boolean => term.length >= minPrefixCharacters && !/\p{N}/u.test(term);
const isFuzzy = (term: string): boolean => term.length >= minFuzzyCharacters && !/\p{N}/u.test(term);

/**
 * Without the terms that a search cannot match, an index takes much less memory. MiniSearch determines a passage's
 * length before it calls this filter, so scores stay the same.
 */
function termFilter(wanted: readonly string[]): (term: string) => boolean {
  const exact = new Set(wanted);
  const prefixes = new Set(wanted.filter(hasPrefix));
  const prefixLengths = [...new Set([...prefixes].map(({ length }) => length))];
  const fuzzy = wanted.filter(isFuzzy).map((term) => ({
    length: term.length,
    edits: Math.ceil(term.length * fuzziness),
    letters: lettersOf(term),
  }));
  /** One edit changes the length by at most one. */
  const fuzzyByLength = Array.from({ length: termCharacters + 1 }, (_each, length) =>
    fuzzy.filter((term) => Math.abs(term.length - length) <= term.edits),
  );
  return (term) => {
    if (exact.has(term)) return true;
    if (prefixLengths.some((length) => length < term.length && prefixes.has(term.slice(0, length))))
      return true;
    const candidates = fuzzyByLength[term.length] ?? [];
    if (candidates.length === 0) return false;
    const letters = lettersOf(term);
    // One edit changes the set of letters by at most two.
    return candidates.some((other) => bitsOf(letters ^ other.letters) <= 2 * other.edits);
  };
}

function lettersOf(term: string): number {
  let letters = 0;
  for (let index = 0; index < term.length; index += 1) letters |= 1 << (term.charCodeAt(index) % 32);
  return letters;
}

function bitsOf(set: number): number {
  let count = 0;
  for (let left = set; left !== 0; left &= left - 1) count += 1;
  return count;
}

export function rankTexts(
  texts: readonly SearchedText[],
  query: string,
  limit: number,
): Scored<PassageOfText>[] {
  const passages = texts.flatMap(({ text, pageOffsets }, textIndex) =>
    splitText(text, pageOffsets).map((passage): PassageOfText => ({ ...passage, textIndex })),
  );
  const mayBeFound = termFilter(queryTerms(query));
  const index = new MiniSearch<IndexedPassage>({
    ...indexOptions,
    processTerm: (term) => mayBeFound(term) && term,
  });
  for (const [id, { text }] of passages.entries()) index.add({ id, text });
  return index
    .search(query, searchOptions)
    .slice(0, limit)
    .map(({ id, score }) => ({ found: passages[id as number] as PassageOfText, score }));
}

interface StoredIndex {
  version: typeof version;
  nextId: number;
  documents: Record<string, string>;
  passages: StoredPassage[];
  index: AsPlainObject;
}

type StoredPassage = [id: number, documentId: string, offset: number, page: number | null, text: string];

const version = 1;

/** Of an uncompressed index, to protect the memory of its reader. */
const maxBytes = 512 * 1024 * 1024;

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
    return new KnowledgeIndex(
      { version, nextId: 0, documents: {}, passages: [] },
      new MiniSearch(indexOptions),
    );
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

  async serialize(): Promise<{ object: Uint8Array; bytes: number }> {
    const stored: StoredIndex = { ...this.stored, index: this.index.toJSON() };
    const json = Buffer.from(JSON.stringify(stored));
    return { object: await promisify(gzip)(json), bytes: json.length };
  }

  /** Invalidates this index: both share data. */
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

/** The size of the cache, in bytes of uncompressed JSON. In memory, an index takes several times its JSON. */
const cachedBytes = 32 * 1024 * 1024;

export interface IndexSearch {
  objectName: string;
  indexBytes: number;
  object?: Uint8Array;
  query: string;
  limit: number;
}

/**
 * `isMissing`: the index is not in memory, so the search needs the object. `passages` is undefined if the index is
 * empty.
 */
export type SearchedIndex =
  | { isMissing: true }
  | { isMissing: false; passages: Scored<PassageOfDocument>[] | undefined };

export function searchIndexes() {
  const cache = objectCache<KnowledgeIndex>(cachedBytes);
  return async (search: IndexSearch): Promise<SearchedIndex> => {
    const { objectName, indexBytes, object, query, limit } = search;
    if (!cache.has(objectName) && object === undefined) return { isMissing: true };
    const index = await cache.get(objectName, indexBytes, () =>
      KnowledgeIndex.parse(object ?? new Uint8Array()),
    );
    return { isMissing: false, passages: index.isEmpty ? undefined : index.search(query, limit) };
  };
}
