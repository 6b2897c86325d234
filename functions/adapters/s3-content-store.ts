import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { ContentStore } from '#domain/ports/content-store.ts';

export function s3ContentStore(client: S3Client, bucket: string): ContentStore {
  return {
    async put(workspaceId, content) {
      const Key = `contents/${workspaceId}/${randomUUID()}`;
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key,
          Body: content,
          ContentType: 'text/plain; charset=utf-8',
        }),
      );
      return Key;
    },
    async get(name) {
      const answer = await client.send(new GetObjectCommand({ Bucket: bucket, Key: name }));
      if (answer.Body === undefined) throw new Error('A stored content has no body');
      return answer.Body.transformToString('utf-8');
    },
    async delete(name) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: name }));
    },
  };
}
