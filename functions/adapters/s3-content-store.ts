import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Chat } from '#domain/chats/chat.ts';
import type { ContentStore } from '#domain/chats/content-store.ts';
import { deleteObjects } from './s3-workspace-objects.ts';

/** Maximum number of UTF-8 bytes for one UTF-16 code unit. */
const bytesPerCharacter = 3;

const prefixOf = ({ workspaceId, id }: Pick<Chat, 'workspaceId' | 'id'>): string =>
  `contents/${workspaceId}/${id}/`;

export function s3ContentStore(client: S3Client, bucket: string): ContentStore {
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
    async delete(name) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: name }));
    },
    deleteOf: (chat) => deleteObjects(client, bucket, prefixOf(chat)),
  };
}
