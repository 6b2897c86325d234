import { appending, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { deliveryItem } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';

type Final = Parameters<BatchTransitions['complete']>[1];

export const complete =
  (table: Table): BatchTransitions['complete'] =>
  (batch, final, delivery) =>
    transactIfFirst(table, async () => {
      const head = await readHead<string>(table, keys.batchList(batch.workspaceId, final.status));
      return (TableName) => [
        finalUpdate(TableName, batch, final),
        { Delete: { TableName, Key: keys.openBatch(batch.workspaceId, batch.id) } },
        { Delete: { TableName, Key: keys.operatorsOpenBatch(batch.id) } },
        ...deliveryPuts(TableName, delivery),
        ...appending(TableName, head, [batch.id]),
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
      Key: keys.batch(batch.workspaceId, batch.id),
      UpdateExpression: `SET #status = :status, completed = :completed, failed = :failed${setTimes} REMOVE slots`,
      // The write fails if the batch was stopped or cancelled after it was read. A later stop changes the results, and
      // a later cancel changes the final status.
      ConditionExpression: `#status = :before AND ${
        batch.stop === null ? 'attribute_not_exists(stop_reason)' : 'stop_reason = :reason'
      }`,
      ExpressionAttributeNames: { '#status': 'status' },
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
