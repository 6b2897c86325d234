import { describe, expect, it } from 'vitest';
import type { StoredFile } from '#domain/files/files.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { fileIndex } = stores;

let files = 0;
const fileWith = (changes: Partial<StoredFile> = {}): StoredFile => ({
  uuid: `file-${++files}`,
  workspaceId: 'ws_1',
  name: 'Notes – 1.txt',
  contentType: 'text/plain; charset=utf-8',
  size: 29,
  scope: 'persistent',
  createdAt: '2027-01-31T12:00:00.000Z',
  expiresAt: null,
  ...changes,
});

describe('a file in the index', () => {
  it('is read as it was stored', async () => {
    for (const file of [
      fileWith(),
      fileWith({ scope: 'ephemeral', expiresAt: '2027-02-01T12:00:00.000Z', name: '日本語.pdf' }),
    ]) {
      expect(await fileIndex.get('ws_1', file.uuid)).toBeUndefined();
      await fileIndex.put(file);
      expect(await fileIndex.get('ws_1', file.uuid)).toEqual(file);
    }
  });

  it('can be read after its expiry', async () => {
    const file = fileWith({ scope: 'ephemeral', expiresAt: '2027-01-31T12:00:01.000Z' });
    await fileIndex.put(file);
    await clock.advance(60 * 60 * 1000);
    expect(await fileIndex.get('ws_1', file.uuid)).toEqual(file);
  });

  it('is replaced as a whole', async () => {
    const file = fileWith({ scope: 'ephemeral', expiresAt: '2027-02-01T12:00:00.000Z' });
    await fileIndex.put(file);
    const replaced = fileWith({ uuid: file.uuid, name: 'Other.md', size: 1 });
    await fileIndex.put(replaced);
    expect(await fileIndex.get('ws_1', file.uuid)).toEqual(replaced);
  });

  it('belongs to one workspace', async () => {
    const file = fileWith();
    await fileIndex.put(file);
    expect(await fileIndex.get('ws_2', file.uuid)).toBeUndefined();
    const other = { ...file, workspaceId: 'ws_2', name: 'Other.md' };
    await fileIndex.put(other);
    expect(await fileIndex.get('ws_1', file.uuid)).toEqual(file);
    expect(await fileIndex.get('ws_2', file.uuid)).toEqual(other);
  });

  it('does not change with an object that a caller has', async () => {
    const file = fileWith();
    const stored = { ...file };
    await fileIndex.put(file);
    file.name = 'Changed';
    const read = (await fileIndex.get('ws_1', file.uuid)) as StoredFile;
    read.name = 'Changed';
    expect(await fileIndex.get('ws_1', file.uuid)).toEqual(stored);
  });
});

describe('the lease to prepare a file', () => {
  it('is of one function at a time, until its end or its release', async () => {
    const file = fileWith();
    await fileIndex.put(file);
    expect(await fileIndex.takeLease(file, 200, 100)).toBe(true);
    expect(await fileIndex.takeLease(file, 201, 100)).toBe(false);
    expect(await fileIndex.takeLease(file, 300, 200)).toBe(false);
    // A repeated write of the same function.
    expect(await fileIndex.takeLease(file, 200, 100)).toBe(true);
    expect(await fileIndex.takeLease(file, 301, 201)).toBe(true);
    await fileIndex.releaseLease(file, 200);
    expect(await fileIndex.takeLease(file, 302, 201)).toBe(false);
    await fileIndex.releaseLease(file, 301);
    expect(await fileIndex.takeLease(file, 303, 201)).toBe(true);
    expect(await fileIndex.get('ws_1', file.uuid)).toEqual(file);
  });

  it('leaves nothing of a file that is gone', async () => {
    const file = fileWith();
    expect(await fileIndex.takeLease(file, 200, 100)).toBe(true);
    await fileIndex.releaseLease(file, 200);
    expect(await fileIndex.get('ws_1', file.uuid)).toBeUndefined();
  });
});
