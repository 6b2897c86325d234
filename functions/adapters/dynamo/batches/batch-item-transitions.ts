import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import { storedBatchItem } from './batch-item.ts';
import { statusNames } from './update-batch.ts';

export const renewItemLease =
  (table: Table): BatchTransitions['renewItemLease'] =>
  async (batch, item, until) => {
    const current = claimIsCurrent(item.attempt);
    try {
      await table.update({
        Key: keys.batchItem(batch.workspaceId, batch.id, item.requestIndex),
        UpdateExpression: 'SET lease = :until',
        ...current,
        ExpressionAttributeValues: { ...current.ExpressionAttributeValues, ':until': until },
      });
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  };

/** Replaces an item on the condition that its claim is the newest one. */
export const saveItem =
  (table: Table): BatchTransitions['finishItem'] =>
  (batch, item) =>
    putItem(table, storedBatchItem(batch, item), claimIsCurrent(item.attempt));

export const scheduleRetry =
  (table: Table): BatchTransitions['scheduleRetry'] =>
  (batch, item, due) =>
    saveItem(table)(batch, { ...item, status: 'waiting', leaseUntil: due });

export const failAbandonedItem =
  (table: Table): BatchTransitions['failAbandonedItem'] =>
  (batch, item, leaseBefore) =>
    putItem(table, storedBatchItem(batch, item), {
      ConditionExpression: 'attempt = :attempt AND #status = :processing AND lease < :before',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ':attempt': item.attempt,
        ':processing': 'processing',
        ':before': leaseBefore,
      },
    });

const claimIsCurrent = (attempt: number) => ({
  ConditionExpression: 'attempt = :attempt AND #status = :processing',
  ExpressionAttributeNames: statusNames,
  ExpressionAttributeValues: { ':attempt': attempt, ':processing': 'processing' } as Item,
});

/** False if the condition fails. A stored item that equals this one is this write, whose response was lost. */
async function putItem(
  table: Table,
  item: Item,
  condition: Pick<Parameters<Table['put']>[0], 'ConditionExpression'> & Item,
): Promise<boolean> {
  try {
    await table.put({ Item: item, ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    return true;
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const stored = error.Item && unmarshall(error.Item);
    return stored !== undefined && stored.attempt === item.attempt && stored.status === item.status;
  }
}
