import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { leaseIdOf } from '#domain/chats/chat.ts';
import type { ChatData } from '#domain/chats/purge.ts';
import { ChatFiles, type EraseFile } from './chat-files.ts';
import type { Contents } from './message-texts.ts';

/** Erases the texts of a stored batch request. */
type EraseRequest = (batch: { workspaceId: string; id: string }, requestIndex: number) => Promise<void>;

export const dynamoChatData = (
  table: Table,
  contents: Contents,
  eraseRequest: EraseRequest,
  eraseFile: EraseFile,
): ChatData => ({
  async delete(chat, { isLast }) {
    await contents().deleteOf(chat);
    const remains = (await table.get(keys.operatorsPurge(chat.deletedAt, chat.workspaceId, chat.id))) ?? {};
    await deleteEvents(table, chat, remains);
    await eraseBatchRequests(table, chat, remains, eraseRequest);
    const files = new ChatFiles(table, chat, eraseFile);
    await files.eraseRegistered(isLast);
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :messages)',
      ProjectionExpression: 'pk, sk, content_name, steps_name, response_id, #files',
      ExpressionAttributeNames: { '#files': 'files' },
      ExpressionAttributeValues: { ':pk': keys.chat(chat.workspaceId, chat.id).pk, ':messages': 'M#' },
    });
    for await (const page of pages) {
      // The items go last: they name what else there is to delete, also after a crash.
      await Promise.all(page.flatMap((item) => namesOf(item).map((name) => contents().delete(name))));
      await Promise.all(page.map((item) => deleteFeedback(table, chat, item)));
      await Promise.all(page.map((item) => deleteEvents(table, chat, item)));
      await files.eraseOf(page);
      await table.deleteAll(page.map(keyOf));
    }
    return { retainedFiles: files.retained };
  },
});

/** Erases the texts of batch requests that created the chat, or that were sent to it. */
async function eraseBatchRequests(
  table: Table,
  { workspaceId, id }: Parameters<ChatData['delete']>[0],
  remains: Item,
  eraseRequest: EraseRequest,
): Promise<void> {
  const erase = async (name: unknown): Promise<void> => {
    const [, batchId, requestIndex] = /^(?:BATCH#|batch:)(.+)[#:](\d+)$/.exec(String(name)) ?? [];
    if (batchId !== undefined) await eraseRequest({ workspaceId, id: batchId }, Number(requestIndex));
  };
  await erase(remains.created_for);
  const pages = table.queryPages({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :requests)',
    ExpressionAttributeValues: { ':pk': keys.chat(workspaceId, id).pk, ':requests': 'BATCH#' },
  });
  for await (const page of pages) {
    for (const { sk } of page) await erase(sk);
    await table.deleteAll(page.map(keyOf));
  }
}

/** The texts of an earlier version, whose names do not have the chat. */
const namesOf = ({ content_name, steps_name }: Item): string[] =>
  [content_name, steps_name].filter((name): name is string => name !== undefined);

const keyOf = ({ pk, sk }: Item): Key => ({ pk: pk as string, sk: sk as string });

/** Deletes what users have recorded, if the item has the feedback counts of a message. */
async function deleteFeedback(
  table: Table,
  chat: Parameters<ChatData['delete']>[0],
  { sk }: Item,
): Promise<void> {
  const [, position] = /^M#(\d+)#FEEDBACK$/.exec(sk as string) ?? [];
  if (position === undefined) return;
  await deletePartition(table, keys.feedback(chat.workspaceId, chat.id, Number(position), ''));
}

/** Deletes the events of the reply that the item names, a message or the purge. Only a resumable reply has any. */
async function deleteEvents(
  table: Table,
  { workspaceId, id }: Parameters<ChatData['delete']>[0],
  { response_id: responseId }: Item,
): Promise<void> {
  if (typeof responseId === 'string' && leaseIdOf(responseId) !== undefined)
    await deletePartition(table, keys.replyEvents(workspaceId, id, responseId, 0, 0));
}

async function deletePartition(table: Table, { pk }: Key): Promise<void> {
  const pages = table.queryPages({
    KeyConditionExpression: 'pk = :pk',
    ProjectionExpression: 'pk, sk',
    ExpressionAttributeValues: { ':pk': pk },
  });
  for await (const page of pages) await table.deleteAll(page.map(keyOf));
}
