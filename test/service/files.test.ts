import { describe, expect, it, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { UploadedFile } from '#contract/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { pdf } from '#support/office-documents.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { filePart, form, uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const megabyte = 1024 * 1024;

const service = await useService();
const tenant = await openTenant(service);
const table = closeAfterTests(dataTableOf(service));
const bucket = fileBucketOf(service);
const upload = uploaderOf(service, tenant);

const uploadPdf = async (name: string, data?: unknown): Promise<UploadedFile> =>
  dataOf(await upload.file(name, pdf(name), { type: 'application/pdf', data })) as UploadedFile;

const withoutUrl = ({ file_url: _, ...file }: UploadedFile) => file;

describe('a message with files', () => {
  it('shows them in the history, in the order given, each once, with addresses that download', async () => {
    const files = [await uploadPdf('one.pdf'), await uploadPdf('zwei 二.pdf', { scope: 'ephemeral' })];
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
    const file = await uploadPdf('brief.pdf', { scope: 'ephemeral' });
    const chat = await tenant.createChat();
    expect((await tenant.send(chat, { attached_file_uuids: [file.uuid] })).status).toBe(200);
    const expired = { expires_at: new Date(Date.now() - 1).toISOString() };
    await table.change(keys.file(tenant.workspaceId, file.uuid), expired);
    expect(summaryOf(await tenant.send(chat, { attached_file_uuids: [file.uuid] }))).toBe(
      '400/10006 attached_file_uuids[0] has expired: an ephemeral file is kept for 24 hours',
    );
  });
});

describe('an address', () => {
  const secondsOf = (file: UploadedFile | undefined): number =>
    Number(new URL(file?.file_url ?? '').searchParams.get('X-Amz-Expires'));

  it('is made anew for every answer, and lives for fifteen minutes', async () => {
    const file = await uploadPdf('fresh.pdf');
    const chat = await tenant.createChat();
    await tenant.send(chat, { attached_file_uuids: [file.uuid] });
    const [message] = await tenant.history(chat);
    expect(secondsOf(file)).toBe(900);
    expect(secondsOf(message?.attached_files[0])).toBe(900);
    expect(message?.attached_files[0]?.file_url).not.toBe(file.file_url);
  });

  it('of a file that has expired is past when it is given', async () => {
    const file = await uploadPdf('past.pdf', { scope: 'ephemeral' });
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
    const [stored, gone] = [await uploadPdf('kept.pdf'), await uploadPdf('gone.pdf', { scope: 'ephemeral' })];
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

/** Waits until this is in the bucket of the workspace. */
const stored = ({ workspaceId }: OpenTenant, expected: object) =>
  vi.waitFor(async () => expect(await bucket.keysOf(workspaceId)).toMatchObject(expected), 10_000);

it('takes 50 MB in one POST, and gives them back', async () => {
  const response = await upload.large(50 * megabyte, { data: '{"scope":"ephemeral"}' });
  const file = response.body.data as UploadedFile;
  expect(file).toMatchObject({ size: 50 * megabyte, scope: 'ephemeral' });
  let bytes = 0;
  let others = 0;
  for await (const chunk of (await fetch(file.file_url)).body ?? []) {
    bytes += chunk.length;
    others += (chunk as Uint8Array).findIndex((byte) => byte !== 120) + 1;
  }
  expect({ bytes, others }).toEqual({ bytes: 50 * megabyte, others: 0 });
});

it('refuses one byte more, with its size, and leaves nothing of it', async () => {
  const own = await openTenant(service);
  const { status, body } = await uploaderOf(service, own).large(50 * megabyte + 1, {
    data: '{"scope":"ephemeral"}',
  });
  const message = 'File size check failed (max size: 50 MB)';
  const data = {
    ...{ original_name: 'large.txt', content_type: 'text/plain', size: 50 * megabyte + 1 },
    ...{ scope: 'ephemeral', error_msg: message },
  };
  expect({ status, body }).toEqual({ status: 400, body: { data, message, error_code: 10006 } });
  expect(await bucket.keysOf(own.workspaceId)).toEqual({ objects: [], uploads: [] });
});

it('leaves nothing when its client leaves half way', async () => {
  const own = await openTenant(service);
  const whole = form(filePart('a.txt', Buffer.alloc(12 * megabyte, 'x')));
  const leaving = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(whole.subarray(0, -100)),
  });
  const left = expect(uploaderOf(service, own).raw(body, { signal: leaving.signal })).rejects.toThrow(
    'aborted',
  );
  await stored(own, { uploads: [expect.any(String)] });
  leaving.abort();
  await left;
  await stored(own, { objects: [], uploads: [] });
  // The next upload works.
  expect((await upload.file('a.txt', 'x')).status).toBe(200);
});

describe('the gateway itself', () => {
  it('takes about 4.5 MB, and says where more is taken', async () => {
    const gateway = uploaderOf({ baseUrl: `${service.run.endpoints.gateway}/v1` }, tenant);
    expect((await gateway.raw(form(filePart('a.txt', Buffer.alloc(4.4 * megabyte, 'x'))))).status).toBe(200);
    for (const size of [4.6, 12])
      expect(summaryOf(await gateway.raw(form(filePart('a.txt', Buffer.alloc(size * megabyte, 'x')))))).toBe(
        '400/10006 The request is too large: address and headers may have 10 KB together, a body 6 MB, a form about 4.5 MB; larger files, up to 50 MB, are taken at the address of a stage with large uploads',
      );
  });
});

describe('the distribution', () => {
  it('is the address that links lead to, whatever a client claims', async () => {
    const own = await openTenant(service);
    for (const _chat of [1, 2]) await own.createChat();
    const claims = {
      'x-forwarded-host': 'evil.example',
      'x-origin-secret': 'a guess of as many characters as the secret has'.slice(0, 43),
    };
    const linkThrough = async (baseUrl: string) => {
      const response = await fetch(`${baseUrl}/chats?limit=1`, {
        headers: { 'x-api-key': own.apiKey, ...claims },
      });
      return ((await response.json()) as { pagination: { next_page: string } }).pagination.next_page;
    };
    expect(await linkThrough(service.baseUrl)).toBe(`${service.baseUrl}/chats?limit=1&offset=1&cursor=a2.1`);
    const gateway = `${service.run.endpoints.gateway}/v1`;
    expect(await linkThrough(gateway)).toBe(`${gateway}/chats?limit=1&offset=1&cursor=a2.1`);
  });

  it('lets nobody but a POST to the route of uploads', async () => {
    const response = await fetch(`${service.baseUrl}/chats/upload-file`, {
      headers: { 'x-api-key': tenant.apiKey },
    });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 404,
      body: { data: null, message: 'Resource not found', error_code: 10003 },
    });
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

it('answers who sends far too much at once, without waiting for the rest', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  const chunk = Buffer.alloc(megabyte, 'x');
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent === 0) controller.enqueue(filePart('a.txt', '').subarray(0, -2));
      sent += 1;
      if (sent > 62) await never;
      controller.enqueue(chunk);
    },
  });
  const response = await upload.raw(body);
  expect(summaryOf(response)).toBe('400/10006 File size check failed (max size: 50 MB)');
  expect(response.headers.get('connection')).toBe('close');
});

describe('an upload to a bucket that fails', async () => {
  // Nothing listens on this port.
  const broken = await useService({ variables: { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' } });
  const failing = uploaderOf(broken, await openTenant(broken));

  it('is told as an error of the service, with the file', async () => {
    const { status, body, headers } = await failing.raw(form(filePart('a.txt', 'x')));
    const message = `Internal server error, request id ${headers.get('x-request-id')}`;
    const data = {
      ...{ original_name: 'a.txt', content_type: 'text/plain', size: 1 },
      ...{ scope: 'persistent', error_msg: message },
    };
    expect({ status, body }).toEqual({ status: 500, body: { data, message, error_code: 10005 } });
  });

  it('half way is told when the body has been read to its end', async () => {
    const { status, body } = await failing.large(50 * megabyte);
    expect({ status, code: body.error_code }).toEqual({ status: 500, code: 10005 });
  });
});
