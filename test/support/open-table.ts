import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  paginateScan,
} from '@aws-sdk/client-dynamodb';
import { itemClientSettings, optimizedClient } from '#adapters/dynamo/item-client/item-client.ts';
import { dynamoTable } from '#adapters/dynamo/table/table.ts';
import { thisPlatform } from '#local/dynamodb/choose-dynamodb.ts';
import { startDynoxide } from '#local/dynamodb/start-dynoxide.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { FrozenItem } from './frozen/read-frozen.ts';

/**
 * Creates the data table alone, in an emulator of its own: stores need no service.
 * @param endpoint an emulator that runs already, such as DynamoDB Local
 */
export async function openTable(endpoint?: string) {
  const TableName = `Data-${randomUUID()}`;
  const folder = await mkdtemp(join(tmpdir(), 'data-table-'));
  const emulator =
    endpoint === undefined
      ? await startDynoxide(thisPlatform.dynamoDbProgram ?? '', join(folder, 'dynamodb.sqlite'))
      : { endpoint, close: async () => undefined };
  const settings = { endpoint: emulator.endpoint, region: 'us-east-1', credentials: operatorCredentials };
  const client = new DynamoDBClient(settings);
  const storeClient = optimizedClient(new DynamoDBClient({ ...itemClientSettings, ...settings }));
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    }),
  );
  return {
    table: dynamoTable(storeClient, TableName),
    /** Puts items as they are. */
    async load(items: readonly FrozenItem[]): Promise<void> {
      for (let first = 0; first < items.length; first += 25)
        await client.send(
          new BatchWriteItemCommand({
            RequestItems: {
              [TableName]: items.slice(first, first + 25).map((Item) => ({ PutRequest: { Item } })),
            },
          }),
        );
    },
    /** Every item, sorted by key. */
    async dump(): Promise<FrozenItem[]> {
      const pages = await Array.fromAsync(paginateScan({ client }, { TableName }));
      const items = pages.flatMap(({ Items = [] }) => Items as FrozenItem[]);
      return items.sort((one, other) => (keyText(one) < keyText(other) ? -1 : 1));
    },
    async close() {
      client.destroy();
      storeClient.destroy();
      await emulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type OpenTable = Awaited<ReturnType<typeof openTable>>;

export const keyText = ({ pk, sk }: FrozenItem): string => `${pk.S} ${sk.S}`;
