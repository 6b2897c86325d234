import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { preparedImageBytes } from '#domain/files/image-fitter.ts';
import type { PreparedAttachments } from '#domain/files/prepared-attachments.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { preparedJson, readPreparedJson } from './prepared-json.ts';
import { presign } from './presign.ts';
import { getObject } from './s3-workspace-objects.ts';

type Kind = 'content.json' | 'image';

/** The prefix names the scope, so that a lifecycle rule can remove the content prepared from ephemeral files. */
const keyOf = (
  { scope, workspaceId, uuid }: Pick<StoredFile, 'scope' | 'workspaceId' | 'uuid'>,
  kind: Kind,
): string => `attachments/${scope}/${workspaceId}/${uuid}/${kind}`;

export function s3PreparedAttachments(client: S3Client, Bucket: string): PreparedAttachments {
  return {
    async get(file, bounds, signal) {
      const body = (await getObject(client, { Bucket, Key: keyOf(file, 'content.json') }, signal))?.Body;
      // If the parser stops early, the connection closes and the rest is not transferred.
      return body && readPreparedJson(body as unknown as AsyncIterable<Uint8Array>, bounds);
    },
    async put(file, prepared) {
      const Body = preparedJson(prepared);
      const Key = keyOf(file, 'content.json');
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' }));
    },
    async getImage(file) {
      const image = await getObject(client, { Bucket, Key: keyOf(file, 'image') });
      if (image?.Body === undefined) throw new Error('A prepared image is missing');
      // A hostile file may control the function that has written it.
      if ((image.ContentLength ?? 0) > preparedImageBytes) throw new Error('A prepared image is too large');
      return image.Body.transformToByteArray();
    },
    async writeAddresses(file) {
      const addressOf = (kind: Kind) =>
        presign(client, new PutObjectCommand({ Bucket, Key: keyOf(file, kind) }));
      const [content, image] = await Promise.all([addressOf('content.json'), addressOf('image')]);
      return { content, image };
    },
    async delete(file) {
      const keys = [keyOf(file, 'content.json'), keyOf(file, 'image')];
      await Promise.all(keys.map((Key) => client.send(new DeleteObjectCommand({ Bucket, Key }))));
    },
  };
}
