import { randomUUID } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';

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
    async get(name) {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: name }));
        return await Body?.transformToByteArray();
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async delete(name) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: name }));
    },
  };
}
