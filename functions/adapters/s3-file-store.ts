import { GetObjectCommand, NoSuchKey, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import type { FileStore } from '#domain/files/file-store.ts';
import { s3FileWriter } from './s3-file-writer.ts';

/** Time to start a download after a page was loaded; too short for an address that leaks to be of use. */
const secondsOfAddress = 15 * 60;

export function s3FileStore(client: S3Client, Bucket: string): FileStore {
  const keyOf = ({ workspaceId, uuid }: { workspaceId: string; uuid: string }): string =>
    `files/${workspaceId}/${uuid}`;
  return {
    start: (file) => s3FileWriter(client, { Bucket, Key: keyOf(file) }, file.contentType),
    async read(file) {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: keyOf(file) }));
        return Body as unknown as AsyncIterable<Uint8Array>;
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    address: (file, now) =>
      getSignedUrl(
        client,
        new GetObjectCommand({
          Bucket,
          Key: keyOf(file),
          ResponseContentDisposition: contentDisposition(file.name.replaceAll(/[/\\]/g, '_')),
          ResponseContentType: file.contentType,
        }),
        { signingDate: now, expiresIn: Math.min(secondsOfAddress, secondsLeft(file.expiresAt, now)) },
      ),
  };
}

/** An address must live for a second: that of a file which has expired is past before anyone can ask for it. */
const secondsLeft = (expiresAt: string | null, now: Date): number =>
  expiresAt === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor((Date.parse(expiresAt) - now.getTime()) / 1000));
