import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetObjectTaggingCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { ListExecutionsCommand, SFNClient } from '@aws-sdk/client-sfn';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import type { RunningTemplate } from '#local/run-template.ts';
import { operatorAt } from '../data-table.ts';

export type StoredItem = Record<string, unknown> & { pk: string; sk: string };

export type StoresOfRun = Pick<RunningTemplate, 'outputs' | 'endpoints' | 'physicalIds'>;

/** Reads everything that a running service stores, directly from its emulators. */
export async function takeSnapshot({ outputs, endpoints, physicalIds }: StoresOfRun) {
  const table = DynamoDBDocumentClient.from(new DynamoDBClient(operatorAt(endpoints.dynamodb)));
  const s3 = new S3Client({ ...operatorAt(endpoints.s3), forcePathStyle: true });
  const sqs = new SQSClient({ ...operatorAt(endpoints.sqs), useQueueUrlAsEndpoint: false });
  const sfn = new SFNClient(operatorAt(endpoints.sfn));
  const { DataTableName: TableName, FileBucketName = '', ContentBucketName = '' } = outputs;

  const keysIn = async (Bucket: string): Promise<string[]> => {
    const keys: string[] = [];
    // Version 1 of the operation: for version 2, the emulator makes tokens with a cipher that OpenSSL no longer has.
    for (;;) {
      const page = await s3.send(new ListObjectsCommand({ Bucket, Marker: keys.at(-1) }));
      keys.push(...(page.Contents ?? []).flatMap(({ Key }) => Key ?? []));
      if (page.IsTruncated !== true) return keys;
    }
  };
  const isPersistent = async (Key: string): Promise<boolean> => {
    const { TagSet } = await s3.send(new GetObjectTaggingCommand({ Bucket: FileBucketName, Key }));
    return TagSet?.every((tag) => tag.Key !== 'kept' || tag.Value !== 'no') ?? true;
  };
  const countMessages = async (QueueUrl: string): Promise<number> => {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl,
        AttributeNames: [
          'ApproximateNumberOfMessages',
          'ApproximateNumberOfMessagesNotVisible',
          'ApproximateNumberOfMessagesDelayed',
        ],
      }),
    );
    return Object.values(Attributes).reduce((sum, count) => sum + Number(count), 0);
  };

  try {
    const queues = Object.entries(physicalIds).filter(([, id]) => id.startsWith(endpoints.sqs));
    const [pages, fileKeys, uploads, contents, counts, executions] = await Promise.all([
      Array.fromAsync(paginateScan({ client: table }, { TableName, ConsistentRead: true })),
      keysIn(FileBucketName),
      s3.send(new ListMultipartUploadsCommand({ Bucket: FileBucketName })),
      keysIn(ContentBucketName),
      Promise.all(queues.map(([, url]) => countMessages(url))),
      sfn.send(
        new ListExecutionsCommand({ stateMachineArn: outputs.BatchWorkflowArn, statusFilter: 'RUNNING' }),
      ),
    ]);
    return {
      items: pages.flatMap(({ Items = [] }) => Items as StoredItem[]),
      /** Objects of the file bucket; the bucket's lifecycle rule removes those with `isPersistent: false`. */
      files: await Promise.all(fileKeys.map(async (key) => ({ key, isPersistent: await isPersistent(key) }))),
      /** Keys of unfinished multipart uploads. */
      uploads: (uploads.Uploads ?? []).flatMap((upload) => upload?.Key ?? []),
      /** Keys of the content bucket. */
      contents,
      /** Number of messages by queue: visible, in flight or delayed. */
      messages: Object.fromEntries(queues.map(([name], index) => [name, counts[index] ?? 0])),
      /** Names of running executions. */
      executions: (executions.executions ?? []).flatMap(({ name }) => name ?? []),
    };
  } finally {
    for (const client of [table, s3, sqs, sfn]) client.destroy();
  }
}

export type Snapshot = Awaited<ReturnType<typeof takeSnapshot>>;
