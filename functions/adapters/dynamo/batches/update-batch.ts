import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch } from '#domain/batches/batch.ts';
import { batchOf } from './batch-item.ts';

export const keyOf = (batch: Batch): Key => keys.batch(batch.workspaceId, batch.id);

/** For expressions: `status` is a reserved word. */
export const statusNames = { '#status': 'status' };

export const openStatuses = {
  ':progress': 'in_progress',
  ':cancelling': 'cancelling',
} satisfies Record<string, BatchStatus>;

/** Returns the changed batch; undefined if the condition of the change fails. */
export async function updateBatch(table: Table, batch: Batch, change: Item): Promise<Batch | undefined> {
  try {
    return batchOf(await table.update({ Key: keyOf(batch), ReturnValues: 'ALL_NEW', ...change }));
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return undefined;
    throw error;
  }
}
