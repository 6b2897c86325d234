import { objectCache } from '#adapters/object-cache.ts';
import type { PassageOfDocument, Scored } from '#domain/knowledge/knowledge.ts';
import { KnowledgeIndex } from './knowledge-index.ts';

/**
 * Limit of the cache, in bytes of uncompressed JSON: one of the largest indexes (32 MB), or many small ones. In memory
 * an index takes eight times its JSON, so the cache takes at most about 260 MB of the function's 1,024 MB.
 */
const cachedBytes = 32 * 1024 * 1024;

export interface IndexSearch {
  objectName: string;
  indexBytes: number;
  /** The stored index, if the search is known to need it. */
  object?: Uint8Array;
  query: string;
  limit: number;
}

/** `isMissing`: the index is not in memory, so the search needs the object. */
export type SearchedIndex =
  | { isMissing: true }
  | { isMissing: false; passages: Scored<PassageOfDocument>[] | undefined };

/** Searches stored indexes, of which it caches those that were used last. */
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
