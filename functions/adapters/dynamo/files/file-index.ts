import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { UploadScope } from '#contract/upload.ts';
import type { FileIndex, PreparationLeases } from '#domain/files/file-index.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/** The item outlives an ephemeral file by this time, so that an error says "has expired" instead of "is not a file". */
const retentionSecondsAfterExpiry = 7 * 24 * 60 * 60;

/** The value of `erasing` in a file's item from the confirmation on. Before that, it is the id of the erasure. */
export const confirmed = 'confirmed';

/** With the delays, about 0.6 s: an erasure is decided within milliseconds, unless its function dies. */
const attemptsToAttach = 8;

export function dynamoFileIndex(table: Table): FileIndex {
  return {
    async put(file) {
      await table.put({
        Item: {
          ...keys.file(file.workspaceId, file.uuid),
          ...fileItem(file),
          chats_indexed: true,
          ...ttlOf(file),
        },
      });
    },
    async get(workspaceId, uuid) {
      const item = await table.get(keys.file(workspaceId, uuid));
      return item && fileOf(item, workspaceId);
    },
    attach: attach(table),
    ...preparationLeases(table),
  };
}

const preparationLeases = (table: Table): PreparationLeases => ({
  async takeLease({ workspaceId, uuid }, until, now) {
    try {
      await table.update({
        Key: keys.file(workspaceId, uuid),
        UpdateExpression: 'SET preparing_until = :until',
        ConditionExpression:
          'attribute_exists(pk) AND (attribute_not_exists(preparing_until) OR preparing_until < :now)',
        ExpressionAttributeValues: { ':until': until, ':now': now },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return true;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // If the lease is this one, the response was lost, and the SDK has retried the write.
      return error.Item === undefined || unmarshall(error.Item).preparing_until === until;
    }
  },
  async releaseLease({ workspaceId, uuid }, until) {
    const release = table.update({
      Key: keys.file(workspaceId, uuid),
      UpdateExpression: 'REMOVE preparing_until',
      ConditionExpression: 'preparing_until = :until',
      ExpressionAttributeValues: { ':until': until },
    });
    await release.catch((error: unknown) => {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    });
  },
});

const attach =
  (table: Table): FileIndex['attach'] =>
  async (file, chatId) => {
    const { workspaceId, uuid, scope } = file;
    const chatOfFile = keys.chatOfFile(workspaceId, uuid, chatId);
    const fileOfChat = keys.fileOfChat(workspaceId, chatId, uuid);
    // First, so that a purge of the chat finds the other item, also after a crash.
    await table.put({ Item: { ...fileOfChat, scope, ...ttlOf(file) } });
    const isNew = await putNew(table, { ...chatOfFile, ...ttlOf(file) });
    const erasing = await decided(table, keys.file(workspaceId, uuid));
    if (erasing === undefined) return true;
    // The chat may have attached the file before. Unless the erasure is confirmed, that must stay registered.
    const deleted = erasing === confirmed ? [chatOfFile, fileOfChat] : isNew ? [chatOfFile] : [];
    if (deleted.length > 0)
      await table.transact((TableName) => deleted.map((Key) => ({ Delete: { TableName, Key } })));
    return false;
  };

/** @returns whether there was no such item */
async function putNew(table: Table, { pk, sk, ttl = null }: Key & Item): Promise<boolean> {
  const before = await table.update({
    Key: { pk, sk },
    // An update instead of a put, because it returns the item before. An item without expiry has no use for `ttl`.
    UpdateExpression: ttl === null ? 'SET attached = :true' : 'SET attached = :true, #ttl = :ttl',
    ...(ttl !== null && { ExpressionAttributeNames: { '#ttl': 'ttl' } }),
    ExpressionAttributeValues: { ':true': true, ...(ttl !== null && { ':ttl': ttl }) },
    ReturnValues: 'ALL_OLD',
  });
  return before.attached === undefined;
}

/**
 * Waits until an erasure of the file is decided.
 * @returns undefined if there is none; `confirmed` also if the file is gone; the erasure's id if the wait was too short
 */
async function decided(table: Table, key: Key): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const item = await table.get(key);
    const erasing = item === undefined ? confirmed : (item.erasing as string | undefined);
    if (erasing === undefined || erasing === confirmed || attempt === attemptsToAttach) return erasing;
    await backOff(table, attempt);
  }
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
