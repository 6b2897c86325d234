import { keys } from '#adapters/dynamo/table/keys.ts';
import { counting } from '#adapters/dynamo/table/lists.ts';
import type { Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { deliveryItem } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch, StopReason } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import { batchOf } from './batch-item.ts';
import { openBatchesUpdate } from './open-batches.ts';
import { keyOf, statusNames } from './update-batch.ts';

export const stop =
  (table: Table, reason: StopReason) =>
  async (batch: Batch, at: string): Promise<Batch | undefined> => {
    const stopped = await transactIfFirst(table, async () => (TableName) => [
      stopUpdate(TableName, batch, { reason, at }),
      {
        Update: {
          TableName,
          Key: keys.batchAcceptsWork(batch.workspaceId, batch.id),
          UpdateExpression: 'SET #open = :closed',
          ExpressionAttributeNames: { '#open': 'open' },
          ExpressionAttributeValues: { ':closed': false },
        },
      },
    ]);
    return stopped ? batchOf(await table.getNamed(keyOf(batch))) : undefined;
  };

function stopUpdate(
  TableName: string,
  batch: Batch,
  { reason, at }: { reason: StopReason; at: string },
): Write {
  const isCancel = reason === 'cancelled';
  const status: BatchStatus = isCancel ? 'cancelling' : 'in_progress';
  return {
    Update: {
      TableName,
      Key: keyOf(batch),
      UpdateExpression:
        'SET #status = :status, stop_reason = if_not_exists(stop_reason, :reason), stopped_at = if_not_exists(stopped_at, :at)',
      ConditionExpression: isCancel
        ? '#status = :open'
        : '#status = :open AND attribute_not_exists(stop_reason)',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ':status': status,
        ':reason': reason,
        ':at': at,
        ':open': 'in_progress' satisfies BatchStatus,
      },
    },
  };
}

type Final = Parameters<BatchTransitions['complete']>[1];

export const complete =
  (table: Table): BatchTransitions['complete'] =>
  (batch, final, delivery) =>
    transactIfFirst(table, async () => {
      const { workspaceId, id } = batch;
      const number = (await table.getNamed(keyOf(batch))).number as number;
      const list = keys.batchList(workspaceId, final.status);
      return (TableName) => [
        finalUpdate(TableName, batch, final),
        openBatchesUpdate(TableName, workspaceId, -1, null),
        { Delete: { TableName, Key: keys.batchList(workspaceId, 'open').entry(number) } },
        { Delete: { TableName, Key: keys.operatorsOpenBatch(id) } },
        ...deliveryPuts(TableName, delivery),
        { Put: { TableName, Item: { ...list.entry(number), id } } },
        ...counting(TableName, [{ list, first: number, added: new Map([['n', 1]]) }]),
      ];
    });

function finalUpdate(TableName: string, batch: Batch, final: Final): Write {
  const { status, completed, failed, completedAt, cancelledAt } = final;
  const setTimes = [
    ...(completedAt === null ? [] : [', completed_at = :completedAt']),
    ...(cancelledAt === null ? [] : [', cancelled_at = :cancelledAt']),
  ].join('');
  return {
    Update: {
      TableName,
      Key: keyOf(batch),
      UpdateExpression: `SET #status = :status, completed = :completed, failed = :failed${setTimes} REMOVE task_token, token_at`,
      // The write fails if the batch was stopped or cancelled after it was read. A later stop changes the results, and
      // a later cancel changes the final status.
      ConditionExpression: `#status = :before AND ${
        batch.stop === null ? 'attribute_not_exists(stop_reason)' : 'stop_reason = :reason'
      }`,
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ':status': status,
        ':completed': completed,
        ':failed': failed,
        ...(completedAt !== null && { ':completedAt': completedAt }),
        ...(cancelledAt !== null && { ':cancelledAt': cancelledAt }),
        ...(batch.stop !== null && { ':reason': batch.stop.reason }),
        ':before': batch.status,
      },
    },
  };
}

const deliveryPuts = (TableName: string, delivery: WebhookDelivery | null): Write[] =>
  delivery === null
    ? []
    : [
        { Put: { TableName, Item: deliveryItem(delivery) } },
        { Put: { TableName, Item: webhookEntry(delivery, delivery.nextAt) } },
      ];
