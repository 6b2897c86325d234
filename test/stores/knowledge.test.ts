import { describe, expect, it } from 'vitest';
import type { KnowledgeDocument, Passage } from '#domain/knowledge/knowledge.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { knowledge } = stores;

let ids = 0;
const newWorkspace = (): string => `ws_${++ids}`;

const documentWith = (changes: Partial<KnowledgeDocument> = {}): KnowledgeDocument => ({
  id: `document-${++ids}`,
  name: 'Prices.md',
  contentType: 'text/markdown',
  bytes: 2000,
  characters: 1500,
  textBytes: 1600,
  passages: 1,
  addedAt: '2027-01-31T12:00:00.000Z',
  ...changes,
});

interface Added {
  document: KnowledgeDocument;
  passages: Passage[];
}
const added = (name: string, ...texts: string[]): Added => ({
  document: documentWith({ name, passages: texts.length }),
  passages: texts.map((text, index) => ({ text, offset: index * 1000 })),
});
const put = (workspaceId: string, ...documents: Added[]): Promise<void> =>
  knowledge.change(workspaceId, () => ({ put: documents, remove: [] }));
const remove = (workspaceId: string, ...documents: Added[]): Promise<void> =>
  knowledge.change(workspaceId, () => ({ put: [], remove: documents.map(({ document }) => document.id) }));
const namesOf = async (workspaceId: string): Promise<string[]> =>
  (await knowledge.list(workspaceId)).map(({ name }) => name);
const textsFor = async (workspaceId: string, query: string, limit = 5): Promise<string[] | undefined> =>
  (await knowledge.search(workspaceId, query, limit))?.map(({ found }) => found.text);

describe('the documents of a workspace', () => {
  it('are listed by name', async () => {
    const workspaceId = newWorkspace();
    expect(await knowledge.list(workspaceId)).toEqual([]);
    const [bread, anise, cake] = ['bread.md', 'Anise.pdf', 'Cake.md'].map((name) => added(name, 'Text'));
    await put(workspaceId, bread as Added, anise as Added);
    await put(workspaceId, cake as Added);
    expect(await knowledge.list(workspaceId)).toEqual([anise?.document, bread?.document, cake?.document]);
  });

  it('are given to the caller who changes them', async () => {
    const workspaceId = newWorkspace();
    const [first, second] = [added('First.md', 'Text'), added('Second.md', 'Text')];
    const seen: (readonly KnowledgeDocument[])[] = [];
    for (const document of [second, first])
      await knowledge.change(workspaceId, (documents) => {
        seen.push(documents);
        return { put: [document], remove: [] };
      });
    expect(seen).toEqual([[], [second.document]]);
    await knowledge.change(workspaceId, (documents) => ({ put: [], remove: documents.map(({ id }) => id) }));
    expect(await knowledge.list(workspaceId)).toEqual([]);
  });

  it('do not change with an object that a caller has', async () => {
    const workspaceId = newWorkspace();
    const bread = added('Bread.md', 'A loaf of bread');
    const stored = structuredClone(bread);
    await put(workspaceId, bread);
    Object.assign(bread.document, { name: 'Changed' });
    Object.assign(bread.passages[0] as Passage, { text: 'Changed' });
    for (const document of await knowledge.list(workspaceId)) document.name = 'Changed';
    for (const { found } of (await knowledge.search(workspaceId, 'bread', 5)) ?? []) {
      found.text = 'Changed';
      found.document.name = 'Changed';
    }
    expect(await knowledge.list(workspaceId)).toEqual([stored.document]);
    expect(await knowledge.search(workspaceId, 'bread', 5)).toMatchObject([
      { found: { text: 'A loaf of bread', document: { name: 'Bread.md' } } },
    ]);
  });
});

describe('a change', () => {
  it('may put and remove at once', async () => {
    const workspaceId = newWorkspace();
    const [bread, cake] = [added('Bread.md', 'A loaf of bread'), added('Cake.md', 'A slice of cake')];
    await put(workspaceId, bread);
    await knowledge.change(workspaceId, () => ({ put: [cake], remove: [bread.document.id] }));
    expect(await knowledge.list(workspaceId)).toEqual([cake.document]);
  });

  it('does not happen if the caller throws', async () => {
    const workspaceId = newWorkspace();
    await put(workspaceId, added('Bread.md', 'A loaf of bread'));
    const failure = new Error('Too many documents');
    const failing = knowledge.change(workspaceId, () => {
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(await namesOf(workspaceId)).toEqual(['Bread.md']);
    expect(await textsFor(workspaceId, 'bread')).toEqual(['A loaf of bread']);
    expect(await auditEntriesOf(stores.auditLog, workspaceId)).toHaveLength(1);
  });

  // The most documents that a change may have.
  it('has up to 50 documents', async () => {
    const workspaceId = newWorkspace();
    const documents = Array.from({ length: 50 }, (_, index) =>
      added(`${100 + index}.md`, `Item number${index}`),
    );
    await put(workspaceId, ...documents);
    expect(await knowledge.list(workspaceId)).toEqual(documents.map(({ document }) => document));
    await remove(workspaceId, ...documents);
    expect(await knowledge.list(workspaceId)).toEqual([]);
  });

  it('loses no other one at the same time', async () => {
    const workspaceId = newWorkspace();
    const words = ['anise', 'bread', 'cake', 'dough'];
    const decisions: number[] = [];
    await Promise.all(
      words.map((word) =>
        knowledge.change(workspaceId, (documents) => {
          decisions.push(documents.length);
          return { put: [added(`${word}.md`, `All about ${word}`)], remove: [] };
        }),
      ),
    );
    expect(await namesOf(workspaceId)).toEqual(words.map((word) => `${word}.md`));
    for (const word of words) expect(await textsFor(workspaceId, word)).toEqual([`All about ${word}`]);
    // Each change that was stored has seen all before it.
    expect(decisions).toEqual(expect.arrayContaining([0, 1, 2, 3]));
    expect(await auditEntriesOf(stores.auditLog, workspaceId)).toHaveLength(4);
  });

  it('names what it removes in the audit log', async () => {
    const workspaceId = newWorkspace();
    const cake = added('Cake.md', 'A slice of cake');
    await put(workspaceId, cake);
    await clock.advance(1000);
    await remove(workspaceId, cake);
    const [, removal] = await auditEntriesOf(stores.auditLog, workspaceId);
    expect(removal).toMatchObject({
      ...{ at: clock.now().toISOString(), action: 'knowledge changed', target: workspaceId },
      changes: { put: [], removed: [cake.document.id] },
    });
  });
});

describe('a search', () => {
  it('finds the best matching passages first, at most as many as wanted', async () => {
    const workspaceId = newWorkspace();
    const shop = added('Shop.md', 'The shop opens at eight', 'The shop sells bread and cake');
    const document = documentWith({ name: 'Menu.pdf' });
    const paged: Passage = { text: 'Bread, butter and more bread', offset: 12, page: 3 };
    await put(workspaceId, shop, { document, passages: [paged] });
    const found = await knowledge.search(workspaceId, 'bread with butter', 5);
    expect(found?.map((one) => one.found)).toEqual([
      { ...paged, document: { id: document.id, name: 'Menu.pdf' } },
      { ...shop.passages[1], document: { id: shop.document.id, name: 'Shop.md' } },
    ]);
    const [best = 0, second = 0] = found?.map(({ score }) => score) ?? [];
    expect(best).toBeGreaterThan(second);
    expect(second).toBeGreaterThan(0);
    expect(await textsFor(workspaceId, 'bread with butter', 1)).toEqual([paged.text]);
  });

  it('is undefined before the first document and after the last', async () => {
    const workspaceId = newWorkspace();
    expect(await knowledge.search(workspaceId, 'bread', 5)).toBeUndefined();
    const bread = added('Bread.md', 'A loaf of bread');
    await put(workspaceId, bread);
    expect(await textsFor(workspaceId, 'bread')).toEqual(['A loaf of bread']);
    await remove(workspaceId, bread);
    expect(await knowledge.search(workspaceId, 'bread', 5)).toBeUndefined();
    await put(workspaceId, bread);
    expect(await textsFor(workspaceId, 'bread')).toEqual(['A loaf of bread']);
  });
});
