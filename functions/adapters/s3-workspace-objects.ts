import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  NoSuchKey,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { WorkspaceObjects } from '#domain/workspaces/workspace-deletion.ts';

/** The objects, or uploads, of one page of a list, which are deleted concurrently. */
const objectsAtOnce = 50;

type OnDeleted = Parameters<WorkspaceObjects['delete']>[1];

/** Where the objects of a workspace are, by the names of the adapters that write them. */
const prefixesOf = (workspaceId: string) => ({
  files: [`files/${workspaceId}/`],
  content: [
    `contents/${workspaceId}/`,
    `knowledge/${workspaceId}/`,
    `attachments/persistent/${workspaceId}/`,
    `attachments/ephemeral/${workspaceId}/`,
  ],
});

export const s3WorkspaceObjects = (
  client: S3Client,
  buckets: { files: string; content: string },
): WorkspaceObjects => ({
  async delete(workspaceId, onDeleted) {
    const prefixes = prefixesOf(workspaceId);
    for (const name of ['files', 'content'] as const)
      for (const prefix of prefixes[name]) {
        await abortUploads(client, buckets[name], prefix, onDeleted);
        await deleteObjects(client, buckets[name], prefix, onDeleted);
      }
  },
});

/** Aborts unfinished uploads, so that their writers cannot complete them. */
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

/** Deletes all objects whose names start with the prefix. */
export async function deleteObjects(
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

/** @returns undefined if there is no such object */
export async function getObject(
  client: S3Client,
  address: { Bucket: string; Key: string },
  abortSignal?: AbortSignal,
): Promise<GetObjectCommandOutput | undefined> {
  try {
    return await client.send(new GetObjectCommand(address), abortSignal && { abortSignal });
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined;
    throw error;
  }
}
