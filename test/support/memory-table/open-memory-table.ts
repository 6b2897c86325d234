import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { dynamoTable, type Table } from '#adapters/dynamo/table/table.ts';
import { MemoryTable, type TableCommand } from './memory-table.ts';

/** A client of the table whose calls take no time and never fail by chance. */
export function openMemoryTable(table = new MemoryTable(), pauseUpTo?: Table['pauseUpTo']): Table {
  const client = {
    async send(command: TableCommand, options?: { abortSignal?: AbortSignal }) {
      options?.abortSignal?.throwIfAborted();
      return table.execute(command);
    },
  };
  return dynamoTable(client as unknown as DynamoDBClient, 'table', pauseUpTo);
}
