import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  NoSuchKey,
  PutObjectCommand,
  PutObjectTaggingCommand,
  paginateListObjectsV2,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ContentStore } from '#domain/chats/message.ts';
import type { FileStore, FileWriter } from '#domain/files/files.ts';
import { recentlyUsed } from '#domain/platform/recently-used.ts';
import type { WorkspaceObjects } from '#domain/workspaces/workspace.ts';

/** For immutable objects. Caches the one that was added last even if it is larger than `maxBytes`. */
export function objectCache<Value>(maxBytes: number) {
  const cached = recentlyUsed<Promise<Value>>(maxBytes);
  return {
    has: cached.has,
    /** A failed read is not cached. */
    get(name: string, bytes: number, read: () => Promise<Value>): Promise<Value> {
      const known = cached.get(name);
      if (known !== undefined) return known;
      // The read starts only when `set` has evicted others.
      const value = Promise.resolve().then(read);
      cached.set(name, value, Math.min(bytes, maxBytes));
      value.catch(() => {
        if (cached.get(name) === value) cached.remove(name);
      });
      return value;
    },
  };
}

/**
 * How long an address of `presign` is valid: longer than the 60 s that `prepare-attachment` has for a file, and longer
 * than its caller waits for one call of it (two attempts of 70 s).
 */
const addressSeconds = 5 * 60;

/** The address is signed with the role of this process, so the role needs the permission itself. */
export const presign = (client: S3Client, command: GetObjectCommand | PutObjectCommand): Promise<string> =>
  getSignedUrl(client, command, { expiresIn: addressSeconds });

/** S3's minimum, because an upload buffers one part in memory. */
const partBytes = 5 * 1024 * 1024;

/** The bucket's lifecycle rule removes objects with this tag after a day. `complete` removes the tag. */
const temporary = 'kept=no';

function s3FileWriter(
  client: S3Client,
  address: { Bucket: string; Key: string },
  ContentType: string,
): FileWriter {
  const attributes = { ...address, ContentType, Tagging: temporary };
  // Not zeroed: memory pages that a small file does not fill need not be allocated.
  const buffer = Buffer.allocUnsafeSlow(partBytes);
  let filled = 0;
  let uploadId: string | undefined;
  let isObject = false;
  const etags: string[] = [];

  async function sendPart(): Promise<void> {
    uploadId ??= (await client.send(new CreateMultipartUploadCommand(attributes))).UploadId;
    const { ETag = '' } = await client.send(
      new UploadPartCommand({
        ...address,
        UploadId: uploadId,
        PartNumber: etags.length + 1,
        Body: buffer.subarray(0, filled),
      }),
    );
    etags.push(ETag);
    filled = 0;
  }

  return {
    async write(bytes) {
      for (let offset = 0; offset < bytes.length; ) {
        if (filled === partBytes) await sendPart();
        const chunk = bytes.subarray(offset, offset + partBytes - filled);
        buffer.set(chunk, filled);
        filled += chunk.length;
        offset += chunk.length;
      }
    },

    async end() {
      if (uploadId === undefined) {
        // Set before the call, because a failed call may still have created the object.
        isObject = true;
        await client.send(new PutObjectCommand({ ...attributes, Body: buffer.subarray(0, filled) }));
        return;
      }
      await sendPart();
      const Parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
      isObject = true;
      await client.send(
        new CompleteMultipartUploadCommand({ ...address, UploadId: uploadId, MultipartUpload: { Parts } }),
      );
      uploadId = undefined;
    },

    async complete() {
      await client.send(new PutObjectTaggingCommand({ ...address, Tagging: { TagSet: [] } }));
    },

    async abort() {
      if (uploadId !== undefined)
        await client.send(new AbortMultipartUploadCommand({ ...address, UploadId: uploadId }));
      if (isObject) await client.send(new DeleteObjectCommand(address));
    },
  };
}

const objectsAtOnce = 50;

type OnDeleted = Parameters<WorkspaceObjects['delete']>[1];

const prefixes = {
  files: ['files'],
  content: ['contents', 'knowledge', 'attachments/persistent', 'attachments/ephemeral'],
} as const;

export const s3WorkspaceObjects = (
  client: S3Client,
  buckets: { files: string; content: string },
): WorkspaceObjects => ({
  async delete(workspaceId, onDeleted) {
    for (const name of ['files', 'content'] as const)
      for (const prefix of prefixes[name].map((first) => `${first}/${workspaceId}/`)) {
        await abortUploads(client, buckets[name], prefix, onDeleted);
        await deleteObjects(client, buckets[name], prefix, onDeleted);
      }
  },
});

/** The writer of an aborted upload can no longer complete it. */
async function abortUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  onDeleted: OnDeleted,
): Promise<void> {
  let next: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | undefined = {};
  while (next !== undefined) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix, MaxUploads: objectsAtOnce, ...next }),
    );
    const { Uploads = [] } = page;
    await Promise.all(
      Uploads.map(({ Key, UploadId }) =>
        client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
      ),
    );
    if (Uploads.length > 0) await onDeleted(Uploads.length);
    next = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      : undefined;
  }
}

async function deleteObjects(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  onDeleted?: OnDeleted,
): Promise<void> {
  const pages = paginateListObjectsV2({ client, pageSize: objectsAtOnce }, { Bucket, Prefix });
  for await (const { Contents = [] } of pages) {
    await Promise.all(Contents.map(({ Key }) => client.send(new DeleteObjectCommand({ Bucket, Key }))));
    if (Contents.length > 0) await onDeleted?.(Contents.length);
  }
}

export const bucketObjects = (client: S3Client, Bucket: string) => ({
  async put(Key: string, Body: string | Uint8Array, ContentType: string): Promise<void> {
    await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }));
  },
  async get(Key: string, abortSignal?: AbortSignal): Promise<GetObjectCommandOutput | undefined> {
    try {
      return await client.send(new GetObjectCommand({ Bucket, Key }), abortSignal && { abortSignal });
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  },
  async delete(Key: string): Promise<void> {
    await client.send(new DeleteObjectCommand({ Bucket, Key }));
  },
});

/** The maximum for one UTF-16 code unit in UTF-8. */
const bytesPerCharacter = 3;

const prefixOf = ({ workspaceId, id }: Pick<Chat, 'workspaceId' | 'id'>): string =>
  `contents/${workspaceId}/${id}/`;

export function s3ContentStore(client: S3Client, bucket: string): ContentStore {
  const objects = bucketObjects(client, bucket);
  const open = async (Key: string) => {
    const { Body: body, ContentLength: bytes = 0 } = await client.send(
      new GetObjectCommand({ Bucket: bucket, Key }),
    );
    if (body === undefined) throw new Error('A stored content has no body');
    return { body, bytes };
  };
  return {
    async put(chat, content) {
      const Key = `${prefixOf(chat)}${randomUUID()}`;
      await objects.put(Key, content, 'text/plain; charset=utf-8');
      return Key;
    },
    async get(name) {
      return (await open(name)).body.transformToString('utf-8');
    },
    async getUpTo(name, characters) {
      const { body, bytes } = await open(name);
      if (bytes <= characters * bytesPerCharacter) {
        const content = await body.transformToString('utf-8');
        return content.length <= characters ? content : undefined;
      }
      (body as unknown as Readable).destroy();
      return undefined;
    },
    delete: objects.delete,
    deleteOf: (chat) => deleteObjects(client, bucket, prefixOf(chat)),
  };
}

const urlSeconds = limits.fileUrlMinutes * 60;

export function s3FileStore(client: S3Client, Bucket: string): FileStore {
  const objects = bucketObjects(client, Bucket);
  const keyOf = ({ workspaceId, uuid }: { workspaceId: string; uuid: string }): string =>
    `files/${workspaceId}/${uuid}`;
  return {
    start: (file) => s3FileWriter(client, { Bucket, Key: keyOf(file) }, file.contentType),
    read: async (file) => (await objects.get(keyOf(file)))?.Body as AsyncIterable<Uint8Array> | undefined,
    delete: (file) => objects.delete(keyOf(file)),
    readAddress: (file) => presign(client, new GetObjectCommand({ Bucket, Key: keyOf(file) })),
    address: (file, now) =>
      getSignedUrl(
        client,
        new GetObjectCommand({
          Bucket,
          Key: keyOf(file),
          ResponseContentDisposition: contentDisposition(file.name.replaceAll(/[/\\]/g, '_')),
          ResponseContentType: file.contentType,
        }),
        { signingDate: now, expiresIn: Math.min(urlSeconds, secondsLeft(file.expiresAt, now)) },
      ),
  };
}

/** At least 1, the minimum for a presigned URL. */
const secondsLeft = (expiresAt: string | null, now: Date): number =>
  expiresAt === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((Date.parse(expiresAt) - now.getTime()) / 1000));
