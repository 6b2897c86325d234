import { randomUUID } from 'node:crypto';
import { keys } from '#adapters/dynamo/table/keys.ts';
import {
  attributesNamed,
  changing,
  changingIf,
  getAs,
  type Item,
  ifStill,
  startingWith,
  type Table,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { FileIndex, PreparationLeases, StoredFile } from '#domain/files/files.ts';

/** So that errors about an expired file say "has expired" instead of "is not a file". */
const retentionSecondsAfterExpiry = 7 * 24 * 60 * 60;

export const dynamoFileIndex = (table: Table): FileIndex => ({
  async put(file) {
    await table.put({
      Item: { ...keys.file(file.workspaceId, file.uuid), ...fileItem(file), ...ttlOf(file) },
    });
  },
  get: (workspaceId, uuid) => getAs(table, keys.file(workspaceId, uuid), (item) => fileOf(item, workspaceId)),
  async attach(file, chatId) {
    const { workspaceId, uuid, scope } = file;
    const chatOfFile = keys.chatOfFile(workspaceId, uuid, chatId);
    const fileOfChat = keys.fileOfChat(workspaceId, chatId, uuid);
    // First, so that no crash leaves the other item without this one, by which a purge of the chat finds it.
    const before = await table.update({
      Key: fileOfChat,
      ...changing({ scope, ...ttlOf(file) }),
      ReturnValues: 'ALL_OLD',
    });
    const attempt = randomUUID();
    const { attached } = await table.update({
      Key: chatOfFile,
      ...changing({ attached: attempt, ...ttlOf(file) }),
      ReturnValues: 'ALL_OLD',
    });
    const item = await table.get(keys.file(workspaceId, uuid));
    if (item !== undefined && item.closed === undefined) return true;
    // `attached` is this attempt only if the SDK has repeated the second update. Then an item in `before` counts as an
    // earlier attachment, which stays. Any other value of `attached` is that of an earlier attachment.
    const isNew = attached === undefined || (attached === attempt && before.scope === undefined);
    if (isNew)
      await transactIfFirst(table, () => [
        // Fails if another attempt of the chat has attached the file: that one may have read it before it was closed.
        { Delete: { Key: chatOfFile, ...ifStill({ attached: attempt }) } },
        // An item that existed before stays: by it, an interrupted purge of the chat that has closed the file finds the
        // file.
        ...(before.scope === undefined ? [{ Delete: { Key: fileOfChat } }] : []),
      ]);
    return false;
  },

  detach: ({ workspaceId, uuid }, chatId) => table.deleteAll([keys.chatOfFile(workspaceId, uuid, chatId)]),
  async isAttached({ workspaceId, uuid }) {
    const chats = startingWith({ ...keys.file(workspaceId, uuid), sk: 'CHAT#' });
    for await (const page of table.queryPages({ ...chats, Limit: 1 })) if (page.length > 0) return true;
    return false;
  },

  async close({ workspaceId, uuid }) {
    await table.updateIf({
      Key: keys.file(workspaceId, uuid),
      ...changing({ closed: true }),
      ConditionExpression: 'attribute_exists(pk)',
    });
  },

  remove: ({ workspaceId, uuid }) => table.deleteAll([keys.file(workspaceId, uuid)]),
  ...preparationLeases(table),
});

const preparationLeases = (table: Table): PreparationLeases => ({
  async takeLease({ workspaceId, uuid }, until, now) {
    const { isDone, item } = await table.updateIf({
      Key: keys.file(workspaceId, uuid),
      ...changing({ preparing_until: until }, { ':now': now }),
      ConditionExpression:
        'attribute_exists(pk) AND (attribute_not_exists(preparing_until) OR preparing_until < :now)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // An earlier attempt of the SDK may have written `until`. If the file has no item any more, the caller continues
    // without a lease.
    return isDone || item === undefined || item.preparing_until === until;
  },
  async releaseLease({ workspaceId, uuid }, until) {
    await table.updateIf({
      Key: keys.file(workspaceId, uuid),
      ...changingIf({ preparing_until: null }, { preparing_until: until }),
    });
  },
});

const ttlOf = ({ expiresAt }: StoredFile): Item =>
  expiresAt === null ? {} : { ttl: Math.floor(Date.parse(expiresAt) / 1000) + retentionSecondsAfterExpiry };

export const { itemOf: fileItem, fieldsOf } = attributesNamed<Omit<StoredFile, 'workspaceId'>>({
  uuid: ['uuid'],
  name: ['name'],
  contentType: ['type'],
  size: ['size'],
  scope: ['scope'],
  createdAt: ['created_at'],
  expiresAt: ['expires_at', null],
});

export const fileOf = (item: Item, workspaceId: string): StoredFile => ({ workspaceId, ...fieldsOf(item) });
