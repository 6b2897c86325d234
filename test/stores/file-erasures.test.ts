import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { eraseFile } from '#domain/files/erase-file.ts';
import type { FileErasures } from '#domain/files/file-erasures.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());
const { chatData, fileErasures, fileIndex, messages } = stores;

const workspaceId = `ws_${randomUUID()}`;
const [chatA, chatB, chatC] = [1, 2, 3];

async function upload(changes: Partial<StoredFile> = {}): Promise<StoredFile> {
  const file: StoredFile = {
    ...{ uuid: randomUUID(), workspaceId, name: 'a.txt', contentType: 'text/plain', size: 1 },
    ...{ scope: 'persistent', createdAt: '2027-01-31T12:00:00.000Z', expiresAt: null },
    ...changes,
  };
  await fileIndex.put(file);
  return file;
}

const isStored = async ({ uuid }: StoredFile) => (await fileIndex.get(workspaceId, uuid)) !== undefined;

/** Erases with some methods replaced, and records which bytes are deleted. */
function erasing(replaced: Partial<FileErasures> = {}) {
  const deleted: string[] = [];
  const remove = (what: string) => async (): Promise<void> => void deleted.push(what);
  const erase = eraseFile({
    fileErasures: { ...fileErasures, ...replaced },
    files: { delete: remove('file') },
    preparedAttachments: { delete: remove('prepared content') },
    identifiers: { uuid: randomUUID } as unknown as Parameters<typeof eraseFile>[0]['identifiers'],
  });
  return { deleted, erase };
}

describe('a file of a deleted chat', () => {
  it('is erased if no other chat attaches it, and is erased once more by each further run', async () => {
    const file = await upload();
    expect(await fileIndex.attach(file, chatA)).toBe(true);
    expect(await fileIndex.attach(file, chatA)).toBe(true);
    const { deleted, erase } = erasing();
    expect(await erase(file, chatA)).toBe('erased');
    expect(deleted).toEqual(['prepared content', 'file']);
    expect(await isStored(file)).toBe(false);
    // A function may have prepared the file meanwhile.
    expect(await erase(file, chatA)).toBe('erased');
    expect(deleted).toHaveLength(4);
    expect(await isStored(file)).toBe(false);
    expect(await fileIndex.attach(file, chatB)).toBe(false);
    expect(await fileErasures.isAttached(file)).toBe(false);
  });

  it('stays until the last chat that attaches it is deleted', async () => {
    const file = await upload({ scope: 'ephemeral', expiresAt: '2027-02-01T12:00:00.000Z' });
    for (const chat of [chatA, chatB, chatC]) await fileIndex.attach(file, chat);
    // Not even for an instant is it marked, so that other sends need not wait.
    const start = () => Promise.reject(new Error('An erasure has started'));
    const { deleted, erase } = erasing({ start });
    expect(await erase(file, chatB)).toBe('attached');
    expect(await erase(file, chatA)).toBe('attached');
    expect([deleted, await isStored(file)]).toEqual([[], true]);
    expect(await erasing().erase(file, chatC)).toBe('erased');
    expect(await isStored(file)).toBe(false);
  });

  it('ends the same if its purge dies at any point and runs again', async () => {
    for (let steps = 0; ; steps += 1) {
      const file = await upload();
      await fileIndex.attach(file, chatA);
      let left = steps;
      const dying =
        <Inputs extends unknown[], Value>(call: (...inputs: Inputs) => Promise<Value>) =>
        async (...inputs: Inputs): Promise<Value> => {
          left -= 1;
          if (left < 0) throw new Error('Killed');
          return call(...inputs);
        };
      const calls = Object.entries(fileErasures).map(([name, call]) => [name, dying(call as never)]);
      const killed = await erasing(Object.fromEntries(calls))
        .erase(file, chatA)
        .catch(() => 'killed');
      expect(await erasing().erase(file, chatA)).toBe('erased');
      expect(await isStored(file)).toBe(false);
      if (killed === 'erased') break;
      expect(steps).toBeLessThan(20);
    }
  });
});

describe('a chat that attaches a file during its erasure', () => {
  it('has the file if the erasure checks for chats afterwards', async () => {
    const file = await upload();
    await fileIndex.attach(file, chatA);
    const { deleted, erase } = erasing({
      async start(name, id) {
        // The check before the start has found no chat.
        expect(await fileIndex.attach(file, chatB)).toBe(true);
        return fileErasures.start(name, id);
      },
    });
    expect(await erase(file, chatA)).toBe('attached');
    expect([deleted, await isStored(file)]).toEqual([[], true]);
    expect(await fileIndex.attach(file, chatC)).toBe(true);
  });

  it('waits for the decision, and has the file', async () => {
    const file = await upload();
    await fileIndex.attach(file, chatA);
    let attaching: Promise<boolean> | undefined;
    const { deleted, erase } = erasing({
      async start(name, id) {
        const started = await fileErasures.start(name, id);
        attaching = fileIndex.attach(file, chatB);
        while (!(await fileErasures.isAttached(file)));
        return started;
      },
    });
    expect(await erase(file, chatA)).toBe('attached');
    expect(await attaching).toBe(true);
    expect([deleted, await isStored(file)]).toEqual([[], true]);
  });

  it('does not have the file once the erasure is confirmed, and leaves nothing behind', async () => {
    const file = await upload();
    await fileIndex.attach(file, chatA);
    const { deleted, erase } = erasing({
      async confirm(name, id) {
        const isConfirmed = await fileErasures.confirm(name, id);
        expect(await fileIndex.attach(file, chatB)).toBe(false);
        expect(await fileErasures.isAttached(file)).toBe(false);
        return isConfirmed;
      },
    });
    expect(await erase(file, chatA)).toBe('erased');
    expect(deleted).toHaveLength(2);
  });

  it('does not have the file if the purge died before its decision, which the next run makes', async () => {
    const [file, other] = [await upload(), await upload()];
    await fileIndex.attach(other, chatB);
    for (const each of [file, other]) {
      await fileErasures.start(each, 'of a dead purge');
      expect(await fileIndex.attach(each, chatB)).toBe(false);
    }
    // It had attached this one before.
    expect(await fileErasures.isAttached(other)).toBe(true);
    expect(await fileErasures.isAttached(file)).toBe(false);
    expect(await erasing().erase(file, chatA)).toBe('erased');
  });

  it('has it or not, but never loses it, if two purges and a send run concurrently', async () => {
    for (let round = 0; round < 20; round += 1) {
      const file = await upload();
      for (const chat of [chatA, chatB]) await fileIndex.attach(file, chat);
      const attaching = async () => {
        for (let turn = 0; turn < round % 5; turn += 1) await fileErasures.isAttached(file);
        return fileIndex.attach(file, chatC);
      };
      const { deleted, erase } = erasing();
      const [isAttached] = await Promise.all([attaching(), erase(file, chatA), erase(file, chatB)]);
      if (isAttached) {
        expect([deleted, await isStored(file)]).toEqual([[], true]);
        expect(await fileIndex.attach(file, chatC)).toBe(true);
      } else expect(await isStored(file)).toBe(false);
    }
  });
});

it('of two purges at the same point, the second one decides', async () => {
  const file = await upload();
  const { deleted, erase } = erasing({
    async confirm(name, id) {
      await fileErasures.start(name, 'of another purge');
      return fileErasures.confirm(name, id);
    },
  });
  expect(await erase(file, chatA)).toBe('replaced');
  expect([deleted, await isStored(file)]).toEqual([[], true]);
  expect(await fileErasures.confirm(file, 'of another purge')).toBe(true);
});

it('an erasure that another one has replaced decides nothing, and a confirmed one is not replaced', async () => {
  const file = await upload();
  expect(await fileErasures.start(file, 'one')).toBe('started');
  expect(await fileErasures.start(file, 'other')).toBe('started');
  expect(await fileErasures.confirm(file, 'one')).toBe(false);
  await fileErasures.cancel(file, 'one');
  expect(await fileErasures.confirm(file, 'other')).toBe(true);
  // A write whose response was lost is repeated.
  expect(await fileErasures.confirm(file, 'other')).toBe(true);
  await fileErasures.cancel(file, 'other');
  expect(await fileErasures.start(file, 'third')).toBe('confirmed');
  await fileErasures.finish(file);
  expect(await fileErasures.start(file, 'third')).toBe('gone');
  await fileErasures.cancel(file, 'third');
  expect(await isStored(file)).toBe(false);
});

describe('the data of a chat', () => {
  const createChat = (): Promise<Chat> =>
    stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
  async function talk(chat: Chat, position: number, attachments: StoredFile[]): Promise<void> {
    for (const file of attachments) expect(await fileIndex.attach(file, chat.id)).toBe(true);
    await messages.put(chat, { ...userMessage(position, 'Hi'), attachments });
  }

  it('has files, which go with it unless another chat attaches them', async () => {
    const [chat, neighbour] = [await createChat(), await createChat()];
    const [own, common] = [await upload(), await upload()];
    await talk(chat, 1, [own, common]);
    await talk(chat, 3, [own]);
    await talk(neighbour, 1, [common]);
    for (const isLast of [false, false, true])
      expect(await chatData.delete({ ...chat, deletedAt: '2027-02-01T00:00:00.000Z' }, { isLast })).toEqual({
        retainedFiles: [],
      });
    expect([await isStored(own), await isStored(common)]).toEqual([false, true]);
    await chatData.delete({ ...neighbour, deletedAt: '2027-02-01T00:00:00.000Z' }, { isLast: true });
    expect(await isStored(common)).toBe(false);
  });

  it('has files whose message was never stored, and files that only a message names', async () => {
    const chat = await createChat();
    const [registered, named] = [await upload(), await upload()];
    await fileIndex.attach(registered, chat.id);
    await messages.put(chat, { ...userMessage(1, 'Hi'), attachments: [named] });
    await chatData.delete({ ...chat, deletedAt: '2027-02-01T00:00:00.000Z' }, { isLast: false });
    expect([await isStored(registered), await isStored(named)]).toEqual([false, false]);
  });

  it('gets a file between two runs of the purge, which the second one erases', async () => {
    const chat = await createChat();
    const file = await upload();
    await chatData.delete({ ...chat, deletedAt: '2027-02-01T00:00:00.000Z' }, { isLast: false });
    await talk(chat, 1, [file]);
    await chatData.delete({ ...chat, deletedAt: '2027-02-01T00:00:00.000Z' }, { isLast: true });
    expect(await isStored(file)).toBe(false);
  });
});
