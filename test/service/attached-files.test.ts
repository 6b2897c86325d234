import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { UploadedFile } from '#contract/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { pdf } from '#support/office-documents.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const table = closeAfterTests(dataTableOf(service));
const bucket = fileBucketOf(service);

async function uploadTo(own: OpenTenant, name: string, data?: unknown): Promise<UploadedFile> {
  const response = await uploaderOf(service, own).file(name, pdf(name), { type: 'application/pdf', data });
  return dataOf(response) as UploadedFile;
}

/** Makes an ephemeral file expire now. */
const endDay = (own: OpenTenant, { uuid }: UploadedFile): Promise<void> =>
  table.change(keys.file(own.workspaceId, uuid), { expires_at: new Date(Date.now() - 1).toISOString() });

const withoutUrl = ({ file_url: _, ...file }: UploadedFile) => file;

describe('a message with files', () => {
  it('shows them in the history, in the order given, each once, with addresses that download', async () => {
    const files = [
      await uploadTo(tenant, 'one.pdf'),
      await uploadTo(tenant, 'zwei 二.pdf', { scope: 'ephemeral' }),
    ];
    const chat = await tenant.createChat();
    const [one, two] = files.map(({ uuid }) => uuid);
    const sent = await tenant.send(chat, { attached_file_uuids: [two, one, two?.toUpperCase()] });
    expect(sent.status).toBe(200);

    const [user, reply] = await tenant.history(chat);
    expect(user?.attached_files.map(withoutUrl)).toEqual(files.map(withoutUrl).toReversed());
    expect(reply?.attached_files).toEqual([]);
    for (const file of user?.attached_files ?? []) {
      const download = await fetch(file.file_url);
      expect(download.headers.get('content-type')).toBe('application/pdf');
      expect(Buffer.from(await download.arrayBuffer())).toEqual(pdf(file.original_name));
    }
  });
});

describe('a file that cannot be attached', () => {
  it('may have expired: an ephemeral file after a day, and its address with it', async () => {
    const file = await uploadTo(tenant, 'brief.pdf', { scope: 'ephemeral' });
    const chat = await tenant.createChat();
    expect((await tenant.send(chat, { attached_file_uuids: [file.uuid] })).status).toBe(200);
    await endDay(tenant, file);
    expect(summaryOf(await tenant.send(chat, { attached_file_uuids: [file.uuid] }))).toBe(
      '400/10006 attached_file_uuids[0] has expired: an ephemeral file is kept for 24 hours',
    );
  });
});

describe('an address', () => {
  const secondsOf = (file: UploadedFile | undefined): number =>
    Number(new URL(file?.file_url ?? '').searchParams.get('X-Amz-Expires'));

  it('is made anew for every answer, and lives for fifteen minutes', async () => {
    const file = await uploadTo(tenant, 'fresh.pdf');
    const chat = await tenant.createChat();
    await tenant.send(chat, { attached_file_uuids: [file.uuid] });
    const [message] = await tenant.history(chat);
    expect(secondsOf(file)).toBe(900);
    expect(secondsOf(message?.attached_files[0])).toBe(900);
    expect(message?.attached_files[0]?.file_url).not.toBe(file.file_url);
  });

  it('of a file that has expired is past when it is given', async () => {
    const file = await uploadTo(tenant, 'past.pdf', { scope: 'ephemeral' });
    const chat = await tenant.createChat();
    await tenant.send(chat, { attached_file_uuids: [file.uuid] });
    const key = keys.message(tenant.workspaceId, chat.id, 1);
    const files = (await table.read(key))?.files as Record<string, unknown>[];
    await table.change(key, {
      files: files.map((item) => ({ ...item, expires_at: '2026-01-01T00:00:00.000Z' })),
    });
    const [message] = await tenant.history(chat);
    expect(message?.attached_files[0]).toMatchObject({ original_name: 'past.pdf', scope: 'ephemeral' });
    expect(secondsOf(message?.attached_files[0])).toBe(1);
  });
});

describe('what is stored', () => {
  it('stays when it is persistent; else its object is marked to go, and its row to be forgotten', async () => {
    const [stored, gone] = [
      await uploadTo(tenant, 'kept.pdf'),
      await uploadTo(tenant, 'gone.pdf', { scope: 'ephemeral' }),
    ];
    expect(await bucket.tagsOf(tenant.workspaceId, stored.uuid)).toEqual([]);
    expect(await bucket.tagsOf(tenant.workspaceId, gone.uuid)).toEqual([{ Key: 'kept', Value: 'no' }]);
    expect(await table.read(keys.file(tenant.workspaceId, stored.uuid))).not.toHaveProperty('ttl');
    const item = await table.read(keys.file(tenant.workspaceId, gone.uuid));
    const day = 24 * 60 * 60;
    expect(Number(item?.ttl)).toBeGreaterThan(Date.now() / 1000 + 7 * day);
    expect(Date.parse(String(item?.expires_at)) / 1000).toBeCloseTo(Date.now() / 1000 + day, -2);
  });
});

async function openFiles() {
  const own = await openTenant(service, { titles: false });
  const upload = async (name = 'a.txt', options?: object) =>
    dataOf(await uploaderOf(service, own).file(name, 'Text', options)) as UploadedFile;
  const remove = (uuid: string) => own.client.delete(`/chats/files/${uuid}`);
  const itemsOf = async (uuid: string) =>
    (await table.readAll()).filter(({ pk, sk }) => `${pk} ${sk}`.includes(uuid));
  const objectsOf = async () => (await bucket.keysOf(own.workspaceId)).objects;
  return { tenant: own, upload, remove, itemsOf, objectsOf };
}

it('a deletion deletes a file that no message has: its bytes, its item and its address', async () => {
  const { tenant: own, upload, remove, itemsOf, objectsOf } = await openFiles();
  const file = await upload();
  const kept = await upload('b.txt');
  expect(await remove(file.uuid)).toMatchObject({
    status: 200,
    body: { data: { uuid: file.uuid, deleted: true }, message: null, error_code: 0 },
  });
  expect(await itemsOf(file.uuid)).toEqual([]);
  expect(await objectsOf()).toEqual([expect.stringContaining(kept.uuid)]);
  expect(summaryOf(await remove(file.uuid))).toBe('404/10003 File not found');
  const sent = await own.send(await own.createChat(), { attached_file_uuids: [file.uuid] });
  expect(summaryOf(sent)).toBe('400/10006 attached_file_uuids[0] is not a file of this workspace');
});

it('a deletion leaves a file that a message has, until its last chat is deleted', async () => {
  const { tenant: own, upload, remove, objectsOf } = await openFiles();
  const file = await upload();
  const chat = await own.createChat();
  dataOf(await own.send(chat, { attached_file_uuids: [file.uuid] }));
  const rejected = await remove(file.uuid);
  expect(summaryOf(rejected)).toBe(
    '400/10006 The file is attached to a message: it is deleted with its chat',
  );
  expect(await objectsOf()).toHaveLength(1);
  expect((await fetch(file.file_url)).status).toBe(200);
  // It is as if nobody had tried.
  dataOf(await own.send(await own.createChat(), { attached_file_uuids: [file.uuid] }));
});

it('a file is deleted once of many attempts at the same moment, and none of them fails', async () => {
  const { upload, remove, objectsOf } = await openFiles();
  const { uuid } = await upload();
  const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await remove(uuid)).status));
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
  expect(await objectsOf()).toEqual([]);
});
