import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { S3Client } from '@aws-sdk/client-s3';
import { StandardRetryStrategy } from '@smithy/core/retry';
import { expect, it, onTestFinished, vi } from 'vitest';
import { presignedPreparation, s3PreparedAttachments } from '#adapters/prepared-attachments.ts';
import { s3FileStore } from '#adapters/s3-objects.ts';
import { limits } from '#contract/limits.ts';
import { preparedImageBytes, type StoredFile } from '#domain/files/files.ts';
import { listenLocally } from '#support/listen-locally.ts';

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

/** An HTTP server in place of S3, which responds with the next of the given responses, and the addresses of one file. */
async function openAddresses(...responses: Respond[]) {
  const received: Record<'method' | 'url' | 'type' | 'body', string | undefined>[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    received.push({ method: request.method, url: request.url, type: request.headers['content-type'], body });
    responses.shift()?.(response, request);
  });
  const { url: endpoint, close } = await listenLocally(server);
  onTestFinished(close);
  const client = clientOf(endpoint);
  const file = storedFile;
  const addresses = {
    file: await s3FileStore(client, 'files').readAddress(file),
    ...(await s3PreparedAttachments(client, 'content').writeAddresses(file)),
  };
  expect(received).toEqual([]);
  return { addresses, client, endpoint, received };
}

const clientOf = (endpoint?: string): S3Client =>
  new S3Client({
    region: 'us-east-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'a secret', sessionToken: 'token' },
    forcePathStyle: true,
    maxAttempts: 1,
    ...(endpoint !== undefined && { endpoint }),
  });
const storedFile = { workspaceId: 'ws_1', uuid: 'u1', scope: 'persistent' } as StoredFile;
const preparation = presignedPreparation(new StandardRetryStrategy(3));
const status =
  (code: number, body = ''): Respond =>
  (response) =>
    response.writeHead(code).end(body);

it('reads and writes the objects of one file, after failures that pass', async () => {
  const { addresses, received } = await openAddresses(
    (response) => response.destroy(),
    status(503),
    status(200, 'bytes'),
    status(500),
    status(200),
    status(200),
  );
  expect(Buffer.from((await preparation.readFile(addresses)) ?? []).toString()).toBe('bytes');
  await preparation.putContent(addresses, { type: 'unreadable', reason: 'is empty' });
  await preparation.putImage(addresses, Buffer.from('image'));
  const sent = received.map(({ method, url = '', type, body }) => [method, url.split('?')[0], type, body]);
  expect(sent.slice(2)).toEqual([
    ['GET', '/files/files/ws_1/u1', undefined, ''],
    ...Array.from({ length: 2 }, () => [
      'PUT',
      '/content/attachments/persistent/ws_1/u1/content.json',
      'application/json',
      '{"type":"unreadable","reason":"is empty"}',
    ]),
    ['PUT', '/content/attachments/persistent/ws_1/u1/image', 'application/octet-stream', 'image'],
  ]);
});

it.each([
  ['is denied', status(403)],
  ['is redirected', (response: ServerResponse) => response.writeHead(307, { location: '/elsewhere' }).end()],
  ['fails for long', undefined],
])('says no address when a request %s', async (_how, respond) => {
  const { addresses, received } = await openAddresses(
    ...Array.from({ length: 3 }, () => respond ?? status(503)),
  );
  const error = await preparation.readFile(addresses).catch((thrown: unknown) => thrown as Error);
  expect(String(error)).toMatch(/^Error: S3 responded with (403|307|503) to a presigned read$/);
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(
    /Signature|token|127\.0\.0\.1/,
  );
  expect(received.map(({ url }) => url?.split('?')[0])).toEqual(received.map(() => '/files/files/ws_1/u1'));
  expect(received).toHaveLength(respond === undefined ? 3 : 1);
});

it('knows a file that is gone, and reads no more than a file may have', async () => {
  const { addresses } = await openAddresses(status(404), (response) => {
    response.writeHead(200);
    response.end(Buffer.alloc(limits.fileBytes + 1));
  });
  expect(await preparation.readFile(addresses)).toBeUndefined();
  await expect(presignedPreparation(new StandardRetryStrategy(1)).readFile(addresses)).rejects.toThrow(
    'larger than',
  );
});

it('reads no image that is larger than a prepared one', async () => {
  const size = preparedImageBytes + 1;
  const { client } = await openAddresses((response) => {
    response.writeHead(200, { 'content-length': size });
    response.end(Buffer.alloc(size));
  });
  await expect(s3PreparedAttachments(client, 'content').getImage(storedFile)).rejects.toThrow(
    'A prepared image is too large',
  );
});

it('signs addresses for five minutes, and for a body that only their user knows', async () => {
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a secret');
  vi.stubEnv('FILE_BUCKET_NAME', 'files');
  vi.stubEnv('CONTENT_BUCKET_NAME', 'content');
  vi.stubEnv('AWS_REQUEST_CHECKSUM_CALCULATION', undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { files, preparedAttachments } = await import('#runtime/composition/object-stores.ts');
  const addresses = [
    await files().readAddress(storedFile),
    ...Object.values(await preparedAttachments().writeAddresses(storedFile)),
  ];
  expect(addresses.map((address) => new URL(address).searchParams.get('x-id'))).toEqual([
    'GetObject',
    'PutObject',
    'PutObject',
  ]);
  for (const address of addresses) {
    const { protocol, searchParams } = new URL(address);
    expect([protocol, searchParams.get('X-Amz-Expires')]).toEqual(['https:', '300']);
    expect([...searchParams.keys()].filter((name) => /checksum-(?!mode)/.test(name))).toEqual([]);
  }
});
