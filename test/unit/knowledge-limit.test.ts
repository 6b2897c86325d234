import { expect, test } from 'vitest';
import { addDocuments } from '#domain/knowledge/documents.ts';
import { type KnowledgeDocument, knowledgeLimits } from '#domain/knowledge/knowledge.ts';
import { memoryStores } from '#support/dynamo-stores.ts';
import { manualClock } from '#support/manual-clock.ts';
import { sampleWorkspace } from '#support/memory-chat.ts';

const workspaceId = 'ws_1';
const document: KnowledgeDocument = {
  ...{ id: 'document-1', name: 'large.txt', contentType: 'text/plain', bytes: 1, characters: 1, passages: 0 },
  ...{ textBytes: knowledgeLimits.textBytes - 5, addedAt: '2027-01-31T12:00:00.000Z' },
};

/** Adds a text to a workspace whose one document leaves place for five bytes. */
async function add(name: string, text: string): Promise<string[]> {
  const clock = manualClock();
  const stores = memoryStores({ clock, actor: () => 'tester' });
  await stores.workspaces.put(sampleWorkspace(workspaceId, document.addedAt));
  await stores.knowledge.change(workspaceId, () => ({ put: [{ document, passages: [] }], remove: [] }));
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
