import { DeleteObjectCommand, GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import { limits } from '#contract/limits.ts';
import type { FileStore } from '#domain/files/file-store.ts';
import { presign } from './presign.ts';
import { s3FileWriter } from './s3-file-writer.ts';
import { getObject } from './s3-workspace-objects.ts';

const urlSeconds = limits.fileUrlMinutes * 60;

export function s3FileStore(client: S3Client, Bucket: string): FileStore {
  const keyOf = ({ workspaceId, uuid }: { workspaceId: string; uuid: string }): string =>
    `files/${workspaceId}/${uuid}`;
  return {
    start: (file) => s3FileWriter(client, { Bucket, Key: keyOf(file) }, file.contentType),
    read: async (file) =>
      (await getObject(client, { Bucket, Key: keyOf(file) }))?.Body as AsyncIterable<Uint8Array> | undefined,

    async delete(file) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(file) }));
    },
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

/** At least 1, the minimum for a presigned URL. The URL of an expired file has expired before a client can use it. */
const secondsLeft = (expiresAt: string | null, now: Date): number =>
  expiresAt === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((Date.parse(expiresAt) - now.getTime()) / 1000));
