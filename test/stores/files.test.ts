import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { eraseChat } from '#domain/erasure/erasure.ts';
import { eraseFile } from '#domain/files/attachments.ts';
import type { StoredFile } from '#domain/files/files.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { noObjects } from '#support/memory-objects.ts';
import { userMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());
const { fileIndex, messages } = stores;

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

it('a file in the index is replaced as a whole', async () => {
  const file = fileWith({ scope: 'ephemeral', expiresAt: '2027-02-01T12:00:00.000Z' });
  await fileIndex.put(file);
  const replaced = fileWith({ uuid: file.uuid, name: 'Other.md', size: 1 });
  await fileIndex.put(replaced);
  expect(await fileIndex.get('ws_1', file.uuid)).toEqual(replaced);
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

const workspaceId = `ws_${randomUUID()}`;
const [chatA, chatB] = [1, 2];

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
const services = { fileIndex, ...noObjects };

describe('a file of a deleted chat', () => {
  it('is attached in no further chat once it is closed, and stays in those that have it', async () => {
    const file = await upload();
    await fileIndex.attach(file, chatA);
    for (let times = 0; times < 2; times += 1) await fileIndex.close(file);
    for (const chat of [chatA, chatB]) expect(await fileIndex.attach(file, chat)).toBe(false);
    expect(await eraseFile(services, file, chatB)).toBe(false);
    expect(await fileIndex.isAttached(file)).toBe(true);
    expect(await eraseFile(services, file, chatA)).toBe(true);
    await fileIndex.close(file);
    expect(await isStored(file)).toBe(false);
  });

  it('is erased by the next purge if one was interrupted, although a send has tried to attach it meanwhile', async () => {
    const file = await upload();
    await fileIndex.attach(file, chatA);
    const interrupted = { ...services, files: { delete: () => Promise.reject(new Error('interrupted')) } };
    await expect(eraseFile(interrupted, file, chatA)).rejects.toThrow('interrupted');
    expect(await fileIndex.attach(file, chatA)).toBe(false);
    const purge = { workspaceId, chatId: chatA, deletedAt: new Date().toISOString() };
    await eraseChat({ ...stores, ...noObjects }, purge, { isLast: true, hasTime: () => true });
    expect(await isStored(file)).toBe(false);
  });
});

describe('the files of a chat', () => {
  const createChat = (): Promise<Chat> =>
    stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
  async function talk(chat: Chat, position: number, attachments: StoredFile[]): Promise<void> {
    for (const file of attachments) expect(await fileIndex.attach(file, chat.id)).toBe(true);
    await messages.put(chat, { ...userMessage(position, 'Hi'), attachments });
  }
  const purge = ({ id: chatId }: Chat, isLast: boolean) =>
    eraseChat(
      { ...stores, ...noObjects },
      { workspaceId, chatId, deletedAt: '2027-02-01T12:00:00.000Z' },
      { isLast, hasTime: () => true },
    );

  it('go with it unless another chat attaches them, also those of messages that were never stored', async () => {
    const [chat, neighbour] = [await createChat(), await createChat()];
    const [own, common, registered] = [await upload(), await upload(), await upload()];
    await talk(chat, 1, [own, common]);
    await talk(chat, 3, [own]);
    await talk(neighbour, 1, [common]);
    await fileIndex.attach(registered, chat.id);
    for (const isLast of [false, false, true]) expect(await purge(chat, isLast)).toBe(true);
    expect(await Promise.all([own, common, registered].map(isStored))).toEqual([false, true, false]);
    await purge(neighbour, true);
    expect(await isStored(common)).toBe(false);
  });

  it('are erased by the second run of the purge if they come between the two', async () => {
    const chat = await createChat();
    const file = await upload();
    await purge(chat, false);
    await talk(chat, 1, [file]);
    await purge(chat, true);
    expect(await isStored(file)).toBe(false);
  });
});
