import type { DynamoDBClient, TableDescription } from '@aws-sdk/client-dynamodb';
import type { TableShape } from './touched-items.ts';

type DescribedTable = Pick<TableDescription, 'KeySchema' | 'GlobalSecondaryIndexes'>;

const keyOf = (keys: DescribedTable['KeySchema'], type: 'HASH' | 'RANGE') =>
  keys?.find(({ KeyType }) => KeyType === type)?.AttributeName;

export const tableShape = ({ KeySchema, GlobalSecondaryIndexes = [] }: DescribedTable): TableShape => ({
  partitionKey: keyOf(KeySchema, 'HASH') ?? '',
  sortKey: keyOf(KeySchema, 'RANGE'),
  indexes: Object.fromEntries(
    GlobalSecondaryIndexes.map((index) => [index.IndexName, keyOf(index.KeySchema, 'HASH')]),
  ) as Record<string, string>,
});

/** Reads only the first page of ListTables. */
export async function retainedShapes(
  client: DynamoDBClient,
  ofTemplate: ReadonlyMap<string, TableShape>,
): Promise<[string, TableShape][]> {
  const { DescribeTableCommand, ListTablesCommand } = await import('@aws-sdk/client-dynamodb');
  const { TableNames = [] } = await client.send(new ListTablesCommand());
  const retained = TableNames.filter((name) => !ofTemplate.has(name));
  return Promise.all(
    retained.map(async (TableName): Promise<[string, TableShape]> => {
      const { Table } = await client.send(new DescribeTableCommand({ TableName }));
      return [TableName, tableShape(Table ?? {})];
    }),
  );
}
