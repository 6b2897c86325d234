import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { UploadScope } from '#contract/upload.ts';
import type { FileIndex } from '#domain/files/file-index.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/** The item outlives an ephemeral file by this time, so that an error says "has expired" instead of "is not a file". */
const retentionSecondsAfterExpiry = 7 * 24 * 60 * 60;

export function dynamoFileIndex(table: Table): FileIndex {
  return {
    async put(file) {
      await table.put({
        Item: { ...keys.file(file.workspaceId, file.uuid), ...fileItem(file), ...ttlOf(file) },
      });
    },
    async get(workspaceId, uuid) {
      const item = await table.get(keys.file(workspaceId, uuid));
      return item && fileOf(item, workspaceId);
    },
  };
}

const ttlOf = ({ expiresAt }: StoredFile): Item =>
  expiresAt === null ? {} : { ttl: Math.floor(Date.parse(expiresAt) / 1000) + retentionSecondsAfterExpiry };

/** The file's attributes, stored in its own item and in the messages that attach it. */
export const fileItem = (file: StoredFile): Item => ({
  uuid: file.uuid,
  name: file.name,
  type: file.contentType,
  size: file.size,
  scope: file.scope,
  created_at: file.createdAt,
  ...(file.expiresAt !== null && { expires_at: file.expiresAt }),
});

export const fileOf = (item: Item, workspaceId: string): StoredFile => ({
  uuid: item.uuid as string,
  workspaceId,
  name: item.name as string,
  contentType: item.type as string,
  size: item.size as number,
  scope: item.scope as UploadScope,
  createdAt: item.created_at as string,
  expiresAt: (item.expires_at as string | undefined) ?? null,
});
