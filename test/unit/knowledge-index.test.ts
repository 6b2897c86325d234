import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import {
  type IndexObjects,
  KnowledgeIndex,
  rankTexts,
  termsOf,
} from '#adapters/knowledge/knowledge-index.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { objectCache } from '#adapters/s3-objects.ts';
import { addDocuments, splitText } from '#domain/knowledge/documents.ts';
import { type KnowledgeDocument, knowledgeLimits } from '#domain/knowledge/knowledge.ts';
import { memoryStores } from '#support/dynamo-stores.ts';
import { manualClock } from '#support/manual-clock.ts';
import { sampleWorkspace } from '#support/memory-chat.ts';
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

it('a stored index is read as it was written, and changed like one that was never stored', async () => {
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
  expect(third.search('green fox', 5)[0]?.score).toBeCloseTo(anew.search('green fox', 5)[0]?.score ?? 0, 10);
  expect(third.isEmpty).toBe(false);
  expect(third.changed({ put: [], remove: ['one'] }).isEmpty).toBe(true);
});

it('a search reads the head once more when the index that it names has just been replaced', async () => {
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

const sentence = (number: number) => `Sentence ${number} tells one thing and then another one.`;
const sentences = (count: number) => Array.from({ length: count }, (_, index) => sentence(index)).join(' ');

describe('passages', () => {
  it('are the text itself when it is short, and none when it is blank', () => {
    expect(splitText(' One thing. \n')).toEqual([{ text: 'One thing.', offset: 1 }]);
    expect(splitText(' \n ')).toEqual([]);
  });

  it('end with a paragraph where one ends in their second half', () => {
    const [first] = splitText(`${sentences(12)}\n\n${sentences(20)}`);
    expect(first?.text).toBe(sentences(12));
  });

  it('else end and begin with a sentence, the last one told twice', () => {
    const passages = splitText(sentences(60));
    expect(passages.length).toBeGreaterThan(3);
    for (const { text } of passages) {
      expect(text).toMatch(/^Sentence.*one\.$/);
      expect(text.length).toBeLessThanOrEqual(1000);
    }
    for (const { text } of passages.slice(0, -1)) expect(text.length).toBeGreaterThan(500);
    for (const [index, passage] of passages.slice(1).entries()) {
      const before = passages[index];
      const overlap = (before?.offset ?? 0) + (before?.text.length ?? 0) - passage.offset;
      expect(overlap).toBeGreaterThan(0);
      expect(overlap).toBeLessThanOrEqual(100);
    }
  });

  it('stand on one page each, and know which', () => {
    const pages = [sentences(30), sentences(5), '', sentences(30)];
    const text = pages.join('');
    const offsets = pages.map((_, index) => pages.slice(0, index).join('').length);
    const passages = splitText(text, offsets);
    expect(new Set(passages.map(({ page }) => page))).toEqual(new Set([1, 2, 4]));
    for (const passage of passages) expect(pages[(passage.page ?? 0) - 1]).toContain(passage.text);
    expect(passages.filter(({ page }) => page === 2)).toEqual([
      { text: sentences(5), offset: offsets[1], page: 2 },
    ]);
  });

  it('hold every word, stand where they say, and part no character', () => {
    const chunks = fc.constantFrom(
      'word',
      ' ',
      '\n',
      '\n\n',
      '. ',
      '😀',
      '𠮷野家',
      'é',
      'a'.repeat(300),
      '。',
    );
    fc.assert(
      fc.property(fc.array(chunks, { maxLength: 400 }), (parts) => {
        const text = parts.join('');
        let seen = 0;
        for (const passage of splitText(text)) {
          expect(text.slice(passage.offset, passage.offset + passage.text.length)).toBe(passage.text);
          expect(passage.text.isWellFormed()).toBe(true);
          expect(passage.text.length).toBeLessThanOrEqual(1000);
          expect(text.slice(seen, Math.max(seen, passage.offset)).trim()).toBe('');
          seen = Math.max(seen, passage.offset + passage.text.length);
        }
        expect(text.slice(seen).trim()).toBe('');
      }),
    );
  });

  it('of ten megabytes without a break are made in a moment', () => {
    const started = performance.now();
    expect(splitText('a'.repeat(10 * 1024 * 1024)).length).toBeGreaterThan(10_000);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

const workspaceId = 'ws_1';
const largeDocument: KnowledgeDocument = {
  ...{ id: 'document-1', name: 'large.txt', contentType: 'text/plain', bytes: 1, characters: 1, passages: 0 },
  ...{ textBytes: knowledgeLimits.textBytes - 5, addedAt: '2027-01-31T12:00:00.000Z' },
};

/** Adds a text to a workspace whose one document leaves place for five bytes. */
async function add(name: string, text: string): Promise<string[]> {
  const clock = manualClock();
  const stores = memoryStores({ clock, actor: () => 'tester' });
  await stores.workspaces.put(sampleWorkspace(workspaceId, largeDocument.addedAt));
  await stores.knowledge.change(workspaceId, () => ({
    put: [{ document: largeDocument, passages: [] }],
    remove: [],
  }));
  const unused = (): never => {
    throw new Error('Only uuids are needed');
  };
  await addDocuments(
    {
      ...{ ...stores, clock },
      identifiers: { uuid: () => 'document-2', workspaceId: unused, apiKey: unused, apiKeyId: unused },
      textExtractor: { extract: async () => ({ text, contentType: 'text/plain', pageOffsets: [] }) },
    },
    { workspaceId, documents: [{ name, file: name, read: async () => Buffer.from(text) }] },
  );
  return (await stores.knowledge.list(workspaceId)).map((each) => each.name);
}

test('a workspace takes text up to its limit in bytes, and not one more', async () => {
  expect(await add('small.txt', 'Hello')).toEqual(['large.txt', 'small.txt']);
  await expect(add('small.txt', 'Helló')).rejects.toThrow('at most 10.0 MB of text');
});

test('a document that is replaced does not count', async () => {
  expect(await add('large.txt', 'A longer text than five bytes')).toEqual(['large.txt']);
});

test('a name has at most 256 characters, as Unicode counts them', async () => {
  expect(await add('😀'.repeat(256), 'Hello')).toContain('😀'.repeat(256));
  await expect(add('😀'.repeat(257), 'Hello')).rejects.toThrow('must have 1 to 256 characters');
});
