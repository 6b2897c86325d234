import { expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const table = closeAfterTests(dataTableOf(service));

async function open() {
  const tenant = await openTenant(service, { titles: false });
  const upload = async (name = 'a.txt', options?: object) =>
    dataOf(await uploaderOf(service, tenant).file(name, 'Text', options)) as UploadedFile;
  const remove = (uuid: string) => tenant.client.delete(`/chats/files/${uuid}`);
  const itemsOf = async (uuid: string) =>
    (await table.readAll()).filter(({ pk, sk }) => `${pk} ${sk}`.includes(uuid));
  const objectsOf = async () => (await fileBucketOf(service).keysOf(tenant.workspaceId)).objects;
  return { tenant, upload, remove, itemsOf, objectsOf };
}

it('deletes a file that no message has: its bytes, its item and its address', async () => {
  const { tenant, upload, remove, itemsOf, objectsOf } = await open();
  const file = await upload();
  const kept = await upload('b.txt');
  expect(await remove(file.uuid)).toMatchObject({
    status: 200,
    body: { data: { uuid: file.uuid, deleted: true }, message: null, error_code: 0 },
  });
  expect(await itemsOf(file.uuid)).toEqual([]);
  expect(await objectsOf()).toEqual([expect.stringContaining(kept.uuid)]);
  expect(summaryOf(await remove(file.uuid))).toBe('404/10003 File not found');
  const sent = await tenant.send(await tenant.createChat(), { attached_file_uuids: [file.uuid] });
  expect(summaryOf(sent)).toBe('400/10006 attached_file_uuids[0] is not a file of this workspace');
});

it('leaves a file that a message has, until its last chat is deleted', async () => {
  const { tenant, upload, remove, objectsOf } = await open();
  const file = await upload();
  const chat = await tenant.createChat();
  dataOf(await tenant.send(chat, { attached_file_uuids: [file.uuid] }));
  const rejected = await remove(file.uuid);
  expect(summaryOf(rejected)).toBe(
    '400/10006 The file is attached to a message: it is deleted with its chat',
  );
  expect(await objectsOf()).toHaveLength(1);
  expect((await fetch(file.file_url)).status).toBe(200);
  // It is as if nobody had tried.
  dataOf(await tenant.send(await tenant.createChat(), { attached_file_uuids: [file.uuid] }));
});

it('leaves the file of another workspace, which is not found', async () => {
  const [owner, stranger] = [await open(), await open()];
  const file = await owner.upload();
  for (const uuid of [file.uuid, crypto.randomUUID()])
    expect(summaryOf(await stranger.remove(uuid))).toBe('404/10003 File not found');
  expect(await owner.objectsOf()).toHaveLength(1);
  expect((await owner.remove(file.uuid.toUpperCase())).status).toBe(200);
});

it('rejects an id that is no UUID', async () => {
  const { remove } = await open();
  expect(summaryOf(await remove('a.txt'))).toMatch(/^400\/10006 uuid /);
});

it('deletes once of many attempts at the same moment, and none of them fails', async () => {
  const { upload, remove, objectsOf } = await open();
  const { uuid } = await upload();
  const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await remove(uuid)).status));
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
  expect(await objectsOf()).toEqual([]);
});
