import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { dataTableOf, operatorAt } from '../data-table.ts';
import { type StoresOfRun, takeSnapshot } from './snapshot.ts';
import { StoredItems } from './stored-items.ts';

/**
 * Corrupts the stores of a service with at least two chats and one batch, in every way that `storedProblems` must find.
 * @returns the problems that it must report, each once
 */
export async function plantProblems(stores: StoresOfRun): Promise<RegExp[]> {
  const items = new StoredItems(await takeSnapshot(stores));
  const [chat, other] = items
    .like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/)
    .filter(({ item }) => Number(item.message_count) > 0);
  const [batch] = items.like(/^W#([^#]+)#B#([^#]+)$/, /^BATCH$/);
  if (chat === undefined || other === undefined || batch === undefined)
    throw new Error('There are not enough chats and batches to corrupt');
  const [workspace = '', chatId = ''] = chat.parts;
  const [batchWorkspace = '', batchId = ''] = batch.parts;
  const table = dataTableOf({ run: stores });
  await table.writeItems([
    { ...keys.message(workspace, 999_999, 1), position: 1 },
    { ...keys.batchItem(workspace, 'gone', 3), status: 'success', k: 1, e: 1, attempt: 1 },
    { ...keys.file(workspace, 'gone'), uuid: 'gone' },
    { ...keys.feedbackCounts(workspace, Number(chatId), 1), sys_helpful: 7 },
    { ...keys.operatorsOpenBatch('forgotten'), workspace_id: workspace },
    { pk: 'SOMETHING', sk: 'ELSE' },
  ]);
  const [count] = items
    .like(/^W#[^#]+#CHATS-N$/, /./)
    .filter(({ item }) => item.pk.startsWith(`W#${workspace}#`));
  if (count === undefined) throw new Error('There is no count to corrupt');
  await table.change({ pk: count.item.pk, sk: count.item.sk }, { n: Number(count.item.n) + 1 });
  await table.change(keys.chat(workspace, Number(chatId)), { lease_id: 'left', lease_until: 1 });
  await table.change(
    { pk: other.item.pk, sk: 'CHAT' },
    { message_count: Number(other.item.message_count) + 2 },
  );
  await table.change(keys.batch(batchWorkspace, batchId), {
    completed: Number(batch.item.completed) + 1,
    slots: {},
  });
  table.close();
  await plantElsewhere(stores, workspace);
  return [
    /#C#999999 M#0000001 is an orphan/,
    /#B#gone#I#3 0000003 is an orphan/,
    /The object files\/[^/]+\/gone is missing/,
    /#FEEDBACK counts \{"sys_helpful":7\}; there are \{\}/,
    /OPEN-BATCHES forgotten is still open/,
    /SOMETHING ELSE is of an unknown kind/,
    /The count W#\S+#CHATS-N \S+ is \{"n":\d+\}; there are \{"n":\d+\}/,
    /is still under the lease left/,
    /counts \d+ messages; there are \d+/,
    /has slots/,
    /counts \d+ \+ \d+ requests; \d+ of \d+ have succeeded/,
    /The object files\/[^/]+\/nobodys is an orphan/,
    /The object contents\/[^/]+\/nobodys is an orphan/,
    /The queue \w+ still holds 1 messages/,
  ];
}

async function plantElsewhere({ outputs, endpoints, physicalIds }: StoresOfRun, workspace: string) {
  const s3 = new S3Client({
    ...{ ...operatorAt(endpoints.s3), forcePathStyle: true },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  const sqs = new SQSClient({ ...operatorAt(endpoints.sqs), useQueueUrlAsEndpoint: false });
  const put = (Bucket: string | undefined, Key: string) =>
    s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  await put(outputs.FileBucketName, `files/${workspace}/nobodys`);
  await put(outputs.ContentBucketName, `contents/${workspace}/nobodys`);
  const QueueUrl = Object.values(physicalIds).find((id) => id.startsWith(endpoints.sqs));
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{}', DelaySeconds: 900 }));
  s3.destroy();
  sqs.destroy();
}
