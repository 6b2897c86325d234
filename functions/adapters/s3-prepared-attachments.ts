import { GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { PreparedAttachment, PreparedAttachments } from '#domain/ports/prepared-attachments.ts';
import type { StoredFile } from '#domain/stored-file.ts';

/** Prefixes by scope, so that a lifecycle rule can sweep what was made of ephemeral files. */
const keyOf = ({ scope, workspaceId, uuid }: StoredFile, kind: 'content.json' | 'image'): string =>
  `attachments/${scope}/${workspaceId}/${uuid}/${kind}`;

export function s3PreparedAttachments(client: S3Client, Bucket: string): PreparedAttachments {
  const get = async (Key: string): Promise<Uint8Array | undefined> => {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return await Body?.transformToByteArray();
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  };
  return {
    async get(file) {
      const bytes = await get(keyOf(file, 'content.json'));
      return bytes && (JSON.parse(Buffer.from(bytes).toString()) as PreparedAttachment);
    },
    async put(file, prepared) {
      const Body = JSON.stringify(prepared);
      const Key = keyOf(file, 'content.json');
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' }));
    },
    async getImage(file) {
      const bytes = await get(keyOf(file, 'image'));
      if (bytes === undefined) throw new Error('An image that was made is not there');
      return bytes;
    },
    async putImage(file, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key: keyOf(file, 'image'), Body }));
    },
  };
}
