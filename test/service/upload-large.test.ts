import { describe, expect, it, vi } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { filePart, form, uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const megabyte = 1024 * 1024;

const service = await useService();
const tenant = await openTenant(service);
const upload = uploaderOf(service, tenant);
const bucket = fileBucketOf(service);
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
    await tenant.createChat();
    await tenant.createChat();
    const claims = {
      'x-forwarded-host': 'evil.example',
      'x-origin-secret': 'a guess of as many characters as the secret has'.slice(0, 43),
    };
    const linkThrough = async (baseUrl: string) => {
      const response = await fetch(`${baseUrl}/chats?limit=1`, {
        headers: { 'x-api-key': tenant.apiKey, ...claims },
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
