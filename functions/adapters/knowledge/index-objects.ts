import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getObject } from '#adapters/s3-workspace-objects.ts';

/** Stored indexes. Each is written once, under a unique name, and never changes. */
export interface IndexObjects {
  /** @returns the name of the stored object */
  put(workspaceId: string, object: Uint8Array): Promise<string>;
  /** Undefined if the object was deleted. */
  get(name: string): Promise<Uint8Array | undefined>;
  delete(name: string): Promise<void>;
}

export function s3IndexObjects(client: S3Client, Bucket: string): IndexObjects {
  return {
    async put(workspaceId, object) {
      const Key = `knowledge/${workspaceId}/${randomUUID()}`;
      await client.send(new PutObjectCommand({ Bucket, Key, Body: object, ContentType: 'application/gzip' }));
      return Key;
    },
    get: async (name) => (await getObject(client, { Bucket, Key: name }))?.Body?.transformToByteArray(),

    async delete(name) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: name }));
    },
  };
}
