import { keys } from '#adapters/dynamo/table/keys.ts';
import { counting } from '#adapters/dynamo/table/lists.ts';
import { changing, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { deliveryItem } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import { openBatchesUpdate } from './open-batches.ts';

type Final = Parameters<BatchTransitions['complete']>[1];

export const complete =
  (table: Table): BatchTransitions['complete'] =>
  (batch, final, delivery) =>
    transactIfFirst(table, async () => {
      const { workspaceId, id } = batch;
      const number = (await table.getNamed(keys.batch(workspaceId, id))).number as number;
      const list = keys.batchList(workspaceId, final.status);
      return [
        finalUpdate(batch, final),
        openBatchesUpdate(workspaceId, -1, null),
        { Delete: { Key: keys.batchList(workspaceId, 'open').entry(number) } },
        { Delete: { Key: keys.operatorsOpenBatch(id) } },
        ...deliveryPuts(delivery),
        { Put: { Item: { ...list.entry(number), id } } },
        ...counting([{ list, first: number, added: new Map([['n', 1]]) }]),
      ];
    });

function finalUpdate(batch: Batch, { status, completed, failed, completedAt, cancelledAt }: Final): Write {
  const times = { completed_at: completedAt ?? undefined, cancelled_at: cancelledAt ?? undefined };
  return {
    Update: {
      Key: keys.batch(batch.workspaceId, batch.id),
      ...changing({ status, completed, failed, ...times, slots: null }, { ':before': batch.status }),
      // A cancel changes the final status, and another completion may have been first. A stop after the last result
      // changes nothing.
      ConditionExpression: '#status = :before',
    },
  };
}

const deliveryPuts = (delivery: WebhookDelivery | null): Write[] =>
  delivery === null
    ? []
    : [{ Put: { Item: deliveryItem(delivery) } }, { Put: { Item: webhookEntry(delivery, delivery.nextAt) } }];
