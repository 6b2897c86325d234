import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type S3rver from '@20minutes/s3rver';

interface Written {
  readonly size: number;
  readonly md5: string;
}

interface StoredObject {
  readonly bucket: string;
  readonly key: string;
  readonly content: Buffer | Readable;
  readonly metadata: unknown;
}

interface Store {
  getResourcePath(bucket: string, key: string | undefined, resource: string): string;
  putMetadata(bucket: string, key: string, metadata: unknown, md5: string): Promise<void>;
  putPart(bucket: string, uploadId: string, part: string, content: Readable): Promise<Written>;
  putObject(object: StoredObject): Promise<Written>;
  putObjectMultipart(
    bucket: string,
    uploadId: string,
    parts: readonly { number: number }[],
  ): Promise<Written>;
}

/** `path` has no query. */
export interface Context {
  readonly method: string;
  readonly path: string;
  url: string;
  readonly query: Record<string, string | undefined>;
  readonly headers: IncomingHttpHeaders;
  readonly req: NodeJS.ReadableStream;
  status: number;
  type: string;
  body: unknown;
}

/** Also replaces s3rver's writes, which may respond before a body has been written. */
export function completeEmulator(server: S3rver): void {
  const store = (server as unknown as { store: Store }).store;
  const uploadsOf = (bucket: string) => store.getResourcePath(bucket, undefined, 'uploads');

  store.putPart = async (bucket, uploadId, part, content) => {
    const file = path.join(uploadsOf(bucket), uploadId, part);
    const written = await write(content, file);
    await writeFile(`${file}.md5`, written.md5);
    return written;
  };

  store.putObject = async ({ bucket, key, content, metadata }) => {
    const file = store.getResourcePath(bucket, key, 'object');
    await mkdir(path.dirname(file), { recursive: true });
    const written = await write(Buffer.isBuffer(content) ? Readable.from([content]) : content, file);
    await store.putMetadata(bucket, key, metadata, written.md5);
    return written;
  };

  store.putObjectMultipart = async (bucket, uploadId, parts) => {
    const folder = path.join(uploadsOf(bucket), uploadId);
    const [key, metadata] = await Promise.all(
      ['key', 'metadata'].map((name) => readFile(path.join(folder, name), 'utf8')),
    );
    const files = parts
      .toSorted((one, other) => one.number - other.number)
      .map(({ number }) => path.join(folder, String(number)));
    const content = Readable.from(contentsOf(files));
    const headers = JSON.parse(metadata ?? '{}') as Record<string, string | undefined>;
    const written = await store.putObject({ bucket, key: key ?? '', content, metadata: headers });
    await tag(bucket, key ?? '', headers['x-amz-tagging']);
    await rm(folder, { recursive: true });
    return written;
  };

  const tag = async (bucket: string, key: string, tags: string | undefined): Promise<void> => {
    if (tags === undefined) return;
    await writeFile(store.getResourcePath(bucket, key, 'tagging.xml'), taggingXml(tags));
  };

  server.middleware.unshift(async (context: Context, next: () => Promise<void>) => {
    const [, bucket = '', ...key] = decodeURIComponent(context.path).split('/');
    const { prefix, uploadId, uploads } = context.query;
    if (context.method === 'DELETE' && uploadId !== undefined) {
      await rm(path.join(uploadsOf(bucket), path.basename(uploadId)), { recursive: true, force: true });
      context.status = 204;
    } else if (context.method === 'GET' && uploads !== undefined && key.join('') === '') {
      context.type = 'application/xml';
      context.body = await listUploads(bucket, uploadsOf(bucket), prefix);
    } else {
      await next();
      if (context.method === 'PUT' && context.status === 200)
        await tag(bucket, key.join('/'), context.headers['x-amz-tagging']?.toString());
      if (context.method === 'DELETE' && key.join('') !== '')
        await rm(store.getResourcePath(bucket, key.join('/'), 'tagging.xml'), { force: true });
    }
  });
}

const taggingXml = (tags: string): string => {
  const entries = [...new URLSearchParams(tags)].map(
    ([name, value]) => `<Tag><Key>${asXml(name)}</Key><Value>${asXml(value)}</Value></Tag>`,
  );
  return `<Tagging><TagSet>${entries.join('')}</TagSet></Tagging>`;
};

async function write(content: Readable, file: string): Promise<Written> {
  const hash = createHash('md5');
  let size = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(content, measure, createWriteStream(file));
  return { size, md5: hash.digest('hex') };
}

async function* contentsOf(files: readonly string[]): AsyncGenerator<Buffer> {
  for (const file of files) yield* createReadStream(file) as AsyncIterable<Buffer>;
}

async function listUploads(bucket: string, folder: string, prefix = ''): Promise<string> {
  const ids = await readdir(folder).catch(() => []);
  let uploads = '';
  for (const id of ids) {
    const key = await readFile(path.join(folder, id, 'key'), 'utf8');
    if (key.startsWith(prefix))
      uploads += `<Upload><Key>${asXml(key)}</Key><UploadId>${id}</UploadId></Upload>`;
  }
  return `<?xml version="1.0" encoding="UTF-8"?><ListMultipartUploadsResult><Bucket>${asXml(bucket)}</Bucket><IsTruncated>false</IsTruncated>${uploads}</ListMultipartUploadsResult>`;
}

export const asXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
