import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { appending, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { deliveryItem } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import { type Batch, type BatchItem, groupsOf, type StopReason } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { claimItems } from './batch-claims.ts';
import { batchOf, storedBatchItem } from './batch-item.ts';

const statusNames = { '#status': 'status' };

const openStatuses = {
  ':progress': 'in_progress',
  ':cancelling': 'cancelling',
} satisfies Record<string, BatchStatus>;

export function dynamoBatchTransitions(table: Table, clock: Clock): BatchTransitions {
  const keyOf = (batch: Batch): Key => keys.batch(batch.workspaceId, batch.id);

  const update = async (batch: Batch, change: Item): Promise<Batch | undefined> => {
    try {
      return batchOf(await table.update({ Key: keyOf(batch), ReturnValues: 'ALL_NEW', ...change }));
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  };

  const transact = (plan: () => Promise<(TableName: string) => Write[]>) => transactIfFirst(table, plan);

  const saveItem = (batch: Batch, item: BatchItem): Promise<boolean> =>
    putItem(table, storedBatchItem(batch, item), claimIsCurrent(item.attempt));

  const stop = async (batch: Batch, reason: StopReason, at: string): Promise<Batch | undefined> => {
    const isCancel = reason === 'cancelled';
    const status: BatchStatus = isCancel ? 'cancelling' : 'in_progress';
    const stopped = await transact(async () => (TableName) => [
      {
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
      },
      {
        Update: {
          TableName,
          Key: keys.batchGate(batch.workspaceId, batch.id),
          UpdateExpression: 'SET #open = :closed',
          ExpressionAttributeNames: { '#open': 'open' },
          ExpressionAttributeValues: { ':closed': false },
        },
      },
    ]);
    return stopped ? batchOf(await table.getNamed(keyOf(batch))) : undefined;
  };

  return {
    claimItems: (batch, claims, lease) => claimItems(table, clock, batch, claims, lease),

    renewItemLease: (batch, item, until) =>
      meetsCondition(() =>
        table.update({
          Key: keys.batchItem(batch.workspaceId, batch.id, item.position),
          UpdateExpression: 'SET lease = :until',
          ...claimIsCurrent(item.attempt),
          ExpressionAttributeValues: {
            ...claimIsCurrent(item.attempt).ExpressionAttributeValues,
            ':until': until,
          },
        }),
      ),

    assignChat: saveItem,
    scheduleRetry: (batch, item, due) => saveItem(batch, { ...item, status: 'waiting', leaseUntil: due }),
    finishItem: saveItem,

    failAbandonedItem: (batch, item, leaseBefore) =>
      putItem(table, storedBatchItem(batch, item), {
        ConditionExpression: 'attempt = :attempt AND #status = :processing AND lease < :before',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ':attempt': item.attempt,
          ':processing': 'processing',
          ':before': leaseBefore,
        },
      }),

    recordOutcomes: (batch, { completed, failed, slots }) =>
      update(batch, {
        UpdateExpression: 'ADD completed :completed, failed :failed, places :places',
        ConditionExpression: '#status IN (:progress, :cancelling)',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ...{ ':completed': completed, ':failed': failed, ':places': slots },
          ...openStatuses,
        },
      }),

    enqueueNext: (batch, { completed, failed, slots }, { groups, slotLimit, at }) =>
      update(batch, {
        UpdateExpression:
          'SET sent_at = :at ADD completed :completed, failed :failed, places :places, groups_sent :groups',
        ConditionExpression:
          '#status = :progress AND attribute_not_exists(stop_reason) AND places <= :most AND groups_sent <= :sent',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ...{ ':completed': completed, ':failed': failed, ':at': at },
          ':places': slots + groups,
          ':groups': groups,
          ':most': slotLimit - slots - groups,
          ':sent': groupsOf(batch) - groups,
          ':progress': openStatuses[':progress'],
        },
      }),

    cancel: (batch, at) => stop(batch, 'cancelled', at),
    markExpired: (batch, at) => stop(batch, 'expired', at),
    markFailed: (batch, at) => stop(batch, 'failed', at),

    saveTaskToken: (batch, taskToken) =>
      update(batch, {
        UpdateExpression: 'SET task_token = :token',
        ConditionExpression: '#status IN (:progress, :cancelling)',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: { ':token': taskToken, ...openStatuses },
      }),

    incrementExecutionNumber: (batch) =>
      update(batch, {
        UpdateExpression: 'SET run = :next',
        ConditionExpression: 'run = :run',
        ExpressionAttributeValues: { ':next': batch.executionNumber + 1, ':run': batch.executionNumber },
      }),

    async enqueueFirst(batch, groups) {
      const started = await update(batch, {
        UpdateExpression: 'SET groups_sent = :groups, places = :groups',
        ConditionExpression: 'attribute_not_exists(groups_sent)',
        ExpressionAttributeValues: { ':groups': groups },
      });
      return started ?? batchOf(await table.getNamed(keyOf(batch)));
    },

    async markFirstEnqueued(batch, at) {
      await update(batch, {
        UpdateExpression: 'SET dispatched_at = if_not_exists(dispatched_at, :at)',
        ExpressionAttributeValues: { ':at': at },
      });
    },

    requeueAll: (batch, { at, groupsSent, slots }) =>
      update(batch, {
        UpdateExpression: 'SET sent_at = :at, groups_sent = :groups, places = :places',
        ConditionExpression: batch.sentAt === null ? 'attribute_not_exists(sent_at)' : 'sent_at = :before',
        ExpressionAttributeValues: {
          ...{ ':at': at, ':groups': groupsSent, ':places': slots },
          ...(batch.sentAt !== null && { ':before': batch.sentAt }),
        },
      }),

    requeueLost: (batch, { at, slots }) =>
      update(batch, {
        UpdateExpression: 'SET sent_at = :at ADD places :places',
        ConditionExpression: '#status = :progress',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ...{ ':at': at, ':places': slots },
          ':progress': openStatuses[':progress'],
        },
      }),

    complete: (batch, final, delivery) =>
      transact(async () => {
        const head = await readHead<string>(table, keys.batchList(batch.workspaceId, final.status));
        return (TableName) => [
          {
            Update: {
              TableName,
              Key: keyOf(batch),
              UpdateExpression: `SET #status = :status, completed = :completed, failed = :failed${
                final.completedAt === null ? '' : ', completed_at = :completedAt'
              }${final.cancelledAt === null ? '' : ', cancelled_at = :cancelledAt'} REMOVE task_token`,
              // A later stop decides the results, and a later cancel the final status.
              ConditionExpression: `#status = :before AND ${
                batch.stop === null ? 'attribute_not_exists(stop_reason)' : 'stop_reason = :reason'
              }`,
              ExpressionAttributeNames: statusNames,
              ExpressionAttributeValues: {
                ':status': final.status,
                ':completed': final.completed,
                ':failed': final.failed,
                ...(final.completedAt !== null && { ':completedAt': final.completedAt }),
                ...(final.cancelledAt !== null && { ':cancelledAt': final.cancelledAt }),
                ...(batch.stop !== null && { ':reason': batch.stop.reason }),
                ':before': batch.status,
              },
            },
          },
          { Delete: { TableName, Key: keys.openBatch(batch.workspaceId, batch.id) } },
          { Delete: { TableName, Key: keys.operatorsOpenBatch(batch.id) } },
          ...(delivery === null
            ? []
            : [
                { Put: { TableName, Item: deliveryItem(delivery) } },
                { Put: { TableName, Item: webhookEntry(delivery, delivery.nextAt) } },
              ]),
          ...appending(TableName, head, [batch.id]),
        ];
      }),
  };
}

const claimIsCurrent = (attempt: number) => ({
  ConditionExpression: 'attempt = :attempt AND #status = :processing',
  ExpressionAttributeNames: statusNames,
  ExpressionAttributeValues: { ':attempt': attempt, ':processing': 'processing' } as Item,
});

async function meetsCondition(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

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
