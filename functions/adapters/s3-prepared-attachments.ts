import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { PreparedAttachments } from '#domain/files/prepared-attachments.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { preparedJson, readPreparedJson } from './prepared-json.ts';

/** The prefix names the scope, so that a lifecycle rule can remove the content prepared from ephemeral files. */
const keyOf = (
  { scope, workspaceId, uuid }: Pick<StoredFile, 'scope' | 'workspaceId' | 'uuid'>,
  kind: 'content.json' | 'image',
): string => `attachments/${scope}/${workspaceId}/${uuid}/${kind}`;

export function s3PreparedAttachments(client: S3Client, Bucket: string): PreparedAttachments {
  const open = async (Key: string, abortSignal?: AbortSignal): Promise<GetObjectCommandOutput['Body']> => {
    try {
      const { Body } = await client.send(
        new GetObjectCommand({ Bucket, Key }),
        abortSignal && { abortSignal },
      );
      return Body;
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  };
  return {
    async get(file, bounds, signal) {
      const body = await open(keyOf(file, 'content.json'), signal);
      // If the parser stops early, the connection closes and the rest is not transferred.
      return body && readPreparedJson(body as unknown as AsyncIterable<Uint8Array>, bounds);
    },
    async put(file, prepared) {
      const Body = preparedJson(prepared);
      const Key = keyOf(file, 'content.json');
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' }));
    },
    async getImage(file) {
      const body = await open(keyOf(file, 'image'));
      if (body === undefined) throw new Error('A prepared image is missing');
      return body.transformToByteArray();
    },
    async putImage(file, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key: keyOf(file, 'image'), Body }));
    },
    async delete(file) {
      const keys = [keyOf(file, 'content.json'), keyOf(file, 'image')];
      await Promise.all(keys.map((Key) => client.send(new DeleteObjectCommand({ Bucket, Key }))));
    },
  };
}
