import { describe, expect, it } from 'vitest';
import type { KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import {
  type IndexObjects,
  KnowledgeIndex,
  rankTexts,
  termsOf,
} from '#adapters/knowledge/knowledge-index.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { objectCache } from '#adapters/s3-objects.ts';
import type { KnowledgeDocument } from '#domain/knowledge/knowledge.ts';
import { sampleTextWorker } from '#support/sample-text-worker.ts';

const ranked = (query: string, ...texts: string[]): string[] =>
  rankTexts(
    texts.map((text) => ({ text })),
    query,
    3,
  ).map(({ found }) => found.text);

describe('terms', () => {
  it('are words without case, accents and punctuation', () => {
    expect(termsOf('Don’t pay the Café’s №5, ÜBER-Straße!')).toEqual(
      expect.arrayContaining(['pay', 'the', 'cafe', 'uber', 'straße']),
    );
    expect(termsOf('Ёлка')).toEqual(termsOf('елка'));
  });

  it('are words in scripts that are written without spaces', () => {
    expect(termsOf('年間休暇は二十五日です')).toContain('休暇');
    expect(termsOf('วันหยุดประจำปี')).toContain('วัน');
    expect(termsOf('Version2对话API')).toEqual(expect.arrayContaining(['version2', '对话', 'api']));
  });

  it('keep the signs of scripts that need them', () => {
    expect(termsOf('छुट्टियाँ 휴가 がぎ')).toEqual(expect.arrayContaining(['छुट्टियाँ', '휴가']));
  });

  it('leave out what is no word', () => {
    expect(termsOf(`… — ${'a'.repeat(65)} !?`)).toEqual([]);
  });
});

describe('the ranking', () => {
  it('puts first what has the rarer words of a query', () => {
    expect(
      ranked(
        'when is the refund paid',
        'The shop is the best',
        'A refund is paid in 14 days',
        'Nothing here',
      ),
    ).toEqual(['A refund is paid in 14 days', 'The shop is the best']);
  });

  it('finds other forms of a word, but no other number', () => {
    expect(ranked('holidays', 'One holiday')).toEqual(['One holiday']);
    expect(ranked('holiday', 'Many holidays')).toEqual(['Many holidays']);
    expect(ranked('123456', 'Order 123457')).toEqual([]);
  });

  it('finds nothing where nothing is, and nothing by no word', () => {
    expect(ranked('zebra', 'A refund')).toEqual([]);
    expect(ranked('?!', 'A refund')).toEqual([]);
    expect(ranked('anything')).toEqual([]);
  });
});

const document = (id: string, name = `${id}.md`): KnowledgeDocument => ({
  id,
  name,
  contentType: 'text/markdown',
  bytes: 1,
  characters: 1,
  textBytes: 1,
  passages: 1,
  addedAt: '2026-01-01T00:00:00.000Z',
});
const put = (id: string, ...texts: string[]) => ({
  document: document(id),
  passages: texts.map((text, offset) => ({ text, offset, page: 1 })),
});
const found = (index: KnowledgeIndex, query: string) =>
  index.search(query, 5).map(({ found }) => [found.document.name, found.text]);

describe('a stored index', () => {
  it('is read as it was written, and changed like one that was never stored', async () => {
    const first = KnowledgeIndex.empty().changed({
      put: [put('one', 'the red fox', 'the blue fox'), put('two', 'the red hen')],
      remove: [],
    });
    const second = (await KnowledgeIndex.parse((await first.serialize()).object)).changed({
      put: [put('one', 'the green fox')],
      remove: ['two'],
    });
    const third = await KnowledgeIndex.parse((await second.serialize()).object);
    expect(found(third, 'red')).toEqual([]);
    expect(found(third, 'fox')).toEqual([['one.md', 'the green fox']]);
    const anew = KnowledgeIndex.empty().changed({ put: [put('one', 'the green fox')], remove: [] });
    expect(third.search('green fox', 5)[0]?.score).toBeCloseTo(
      anew.search('green fox', 5)[0]?.score ?? 0,
      10,
    );
    expect(third.isEmpty).toBe(false);
    expect(third.changed({ put: [], remove: ['one'] }).isEmpty).toBe(true);
  });
});

describe('a search', () => {
  it('reads the head once more when the index that it names has just been replaced', async () => {
    const { object } = await KnowledgeIndex.empty()
      .changed({ put: [put('one', 'the red fox')], remove: [] })
      .serialize();
    const heads = ['old', 'new', 'new'];
    const read: string[] = [];
    const table = {
      head: async () => ({ revision: 1, objectName: heads.shift() ?? '', indexBytes: 1 }),
    } as unknown as KnowledgeTable;
    const objects = {
      async get(name: string) {
        read.push(name);
        return name === 'new' ? object : undefined;
      },
    } as unknown as IndexObjects;
    const store = knowledgeStore(table, objects, sampleTextWorker());
    expect(await store.search('workspace', 'fox', 5)).toHaveLength(1);
    expect(await store.search('workspace', 'fox', 5)).toHaveLength(1);
    expect(read).toEqual(['old', 'new']);
  });
});

describe('the cache of objects', () => {
  it('reads an object once, also for those who ask at once, and what failed again', async () => {
    const cache = objectCache<string>(10);
    let reads = 0;
    const read = async () => `read ${++reads}`;
    expect(await Promise.all([cache.get('a', 1, read), cache.get('a', 1, read)])).toEqual([
      'read 1',
      'read 1',
    ]);
    await expect(cache.get('b', 1, () => Promise.reject(new Error('Down')))).rejects.toThrow('Down');
    expect(await cache.get('b', 1, read)).toBe('read 2');
  });

  it('lets go of what was used longest ago, and keeps one that is too large alone', async () => {
    const cache = objectCache<string>(10);
    const reads: string[] = [];
    const get = (name: string, bytes: number) =>
      cache.get(name, bytes, async () => {
        reads.push(name);
        return name;
      });
    await get('a', 4);
    await get('b', 4);
    await get('a', 4);
    await get('c', 4);
    await get('a', 4);
    await get('b', 4);
    expect(reads).toEqual(['a', 'b', 'c', 'b']);
    await get('large', 20);
    await get('large', 20);
    expect(reads).toEqual(['a', 'b', 'c', 'b', 'large']);
  });
});
