import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { keys } from '#adapters/dynamo/keys.ts';
import type { Service } from './service.ts';

/** The data table of a running service, reached past the service itself. */
export function dataTableOf(service: Pick<Service, 'run'>) {
  const TableName = service.run.outputs.DataTableName ?? '';
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({
      endpoint: service.run.endpoints.dynamodb,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    }),
  );
  return {
    /** Lets the time of a chat's lease pass at once. */
    async endLease({ workspaceId, chatId }: { workspaceId: string; chatId: number }): Promise<void> {
      await client.send(
        new UpdateCommand({
          TableName,
          Key: keys.chat(workspaceId, chatId),
          UpdateExpression: 'SET lease_until = :past',
          ConditionExpression: 'attribute_exists(lease_id)',
          ExpressionAttributeValues: { ':past': Date.now() - 1 },
        }),
      );
    },
    /** Writes items as fast as the engine takes them: 25 a request, which is the most, and some requests at a time. */
    async writeItems(items: Iterable<Record<string, unknown>>): Promise<void> {
      const batches = batchesOf(items);
      const write = async (): Promise<void> => {
        for (const batch of batches) {
          const { UnprocessedItems } = await client.send(
            new BatchWriteCommand({
              RequestItems: { [TableName]: batch.map((Item) => ({ PutRequest: { Item } })) },
            }),
          );
          if (Object.keys(UnprocessedItems ?? {}).length > 0) throw new Error('Some items were not written');
        }
      };
      await Promise.all(Array.from({ length: 4 }, write));
    },
    close: () => client.destroy(),
  };
}

function* batchesOf(items: Iterable<Record<string, unknown>>): Generator<Record<string, unknown>[]> {
  let batch: Record<string, unknown>[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < 25) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
