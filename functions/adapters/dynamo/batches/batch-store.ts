import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { appending, readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { batchItemPartitions, type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { writeTogether } from '#adapters/dynamo/table/write-together.ts';
import { deliveryItem } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import { type Batch, groupsOf, isOpen } from '#domain/batches/batch.ts';
import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { claimItems } from './batch-claims.ts';
import { batchItemItem, batchItemOf, batchOf, itemOf } from './batch-item.ts';
import { readManifest, readRequests, requestItems } from './batch-requests.ts';

const statusNames = { '#status': 'status' };

const openStatuses = {
  ':progress': 'in_progress',
  ':cancelling': 'cancelling',
} satisfies Record<string, BatchStatus>;

export function dynamoBatchStore(table: Table, clock: Clock): BatchStore {
  const keyOf = (batch: Batch): Key => keys.batch(batch.workspaceId, batch.id);

  const get = async (workspaceId: string, batchId: string): Promise<Batch | undefined> => {
    const item = await table.get(keys.batch(workspaceId, batchId));
    return item && batchOf(item);
  };

  const update = async (batch: Batch, change: Item): Promise<Batch | undefined> => {
    try {
      return batchOf(await table.update({ Key: keyOf(batch), ReturnValues: 'ALL_NEW', ...change }));
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw error;
    }
  };

  const transact = (plan: () => Promise<(TableName: string) => Write[]>) => writeTogether(table, plan);

  return {
    get,
    countOpen: async (workspaceId) => (await openIds(table, workspaceId)).length,

    async create(batch, requests, checkLimit) {
      await table.putAll(requestItems(batch, requests));
      return transact(async () => {
        const head = await readHead<string>(table, keys.batchList(batch.workspaceId, 'all'));
        // Behind the head: whatever is created since then changes it, and this is planned anew.
        if (checkLimit !== null)
          checkLimit((await openIds(table, batch.workspaceId)).filter((id) => id !== batch.id).length);
        const entry = { workspace_id: batch.workspaceId, created_at: batch.createdAt };
        return (TableName) => [
          { Put: { TableName, Item: batchItemOf(batch), ConditionExpression: 'attribute_not_exists(pk)' } },
          {
            Put: {
              TableName,
              Item: {
                ...keys.batchGate(batch.workspaceId, batch.id),
                open: true,
                expires: Date.parse(batch.expiresAt),
              },
            },
          },
          { Put: { TableName, Item: { ...keys.openBatch(batch.workspaceId, batch.id), ...entry } } },
          { Put: { TableName, Item: { ...keys.operatorsOpenBatch(batch.id), ...entry } } },
          ...(batch.webhook === null
            ? []
            : [
                {
                  Put: {
                    TableName,
                    Item: { ...keys.operatorsBatch(batch.id), workspace_id: batch.workspaceId },
                  },
                },
              ]),
          ...appending(TableName, head, [batch.id]),
        ];
      });
    },

    async page(workspaceId, { status }, { limit, offset }) {
      const read = async (ids: string[]): Promise<Batch[]> =>
        (await Promise.all(ids.map((id) => table.getNamed(keys.batch(workspaceId, id))))).map(batchOf);
      if (status !== undefined && isOpen({ status })) {
        const open = (await read(await openIds(table, workspaceId))).filter(
          (batch) => batch.status === status,
        );
        return { total: open.length, batches: open.slice(offset, offset + limit) };
      }
      const head = await readHead<string>(table, keys.batchList(workspaceId, status ?? 'all'));
      const last = head.count - offset - 1;
      if (last < 0) return { total: head.count, batches: [] };
      const ids = await readIds(table, head, Math.max(last - limit + 1, 0), last);
      return { total: head.count, batches: await read(ids.reverse()) };
    },

    manifest: (batch) => readManifest(table, batch),
    requests: (batch, positions) => readRequests(table, batch, positions),

    items: (batch, positions) =>
      Promise.all(
        positions.map(async (position) => {
          const item = await table.get(keys.batchItem(batch.workspaceId, batch.id, position));
          return item && itemOf(item);
        }),
      ),

    async allItems(batch) {
      const partitions = Array.from(
        { length: Math.min(batchItemPartitions, batch.total) },
        async (_, index) => {
          const pages = table.queryPages({
            KeyConditionExpression: 'pk = :pk',
            ExpressionAttributeValues: { ':pk': keys.batchItem(batch.workspaceId, batch.id, index).pk },
          });
          return (await Array.fromAsync(pages)).flat().map(itemOf);
        },
      );
      return (await Promise.all(partitions)).flat();
    },

    claim: (batch, claims, lease) => claimItems(table, clock, batch, claims, lease),

    renew: (batch, item, until) =>
      holds(() =>
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

    save: (batch, item) => putItem(table, batchItemItem(batch, item), claimIsCurrent(item.attempt)),

    failAbandonedItem: (batch, item, before) =>
      putItem(table, batchItemItem(batch, item), {
        ConditionExpression: 'attempt = :attempt AND #status = :processing AND lease < :before',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ':attempt': item.attempt,
          ':processing': 'processing',
          ':before': before,
        },
      }),

    count: (batch, { completed, failed, slots }) =>
      update(batch, {
        UpdateExpression: 'ADD completed :completed, failed :failed, places :places',
        // Behind the end the counts are exact, and include these.
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

    async stop(batch, { reason, at }) {
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
      return stopped ? get(batch.workspaceId, batch.id) : undefined;
    },

    saveToken: (batch, taskToken) =>
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

    async start(batch, groups) {
      const started = await update(batch, {
        UpdateExpression: 'SET groups_sent = :groups, places = :groups',
        ConditionExpression: 'attribute_not_exists(groups_sent)',
        ExpressionAttributeValues: { ':groups': groups },
      });
      return started ?? batchOf(await table.getNamed(keyOf(batch)));
    },

    async saveDispatch(batch, at) {
      await update(batch, {
        UpdateExpression: 'SET dispatched_at = if_not_exists(dispatched_at, :at)',
        ExpressionAttributeValues: { ':at': at },
      });
    },

    requeueLost: (batch, { at, groupsSent, slots }) =>
      update(batch, {
        UpdateExpression: 'SET sent_at = :at, groups_sent = :groups, places = :places',
        ConditionExpression: batch.sentAt === null ? 'attribute_not_exists(sent_at)' : 'sent_at = :before',
        ExpressionAttributeValues: {
          ...{ ':at': at, ':groups': groupsSent, ':places': slots },
          ...(batch.sentAt !== null && { ':before': batch.sentAt }),
        },
      }),

    noteRequeue: (batch, { at, slots }) =>
      update(batch, {
        UpdateExpression: 'SET sent_at = :at ADD places :places',
        ConditionExpression: '#status = :progress',
        ExpressionAttributeNames: statusNames,
        ExpressionAttributeValues: {
          ...{ ':at': at, ':places': slots },
          ':progress': openStatuses[':progress'],
        },
      }),

    close: (batch, final, delivery) =>
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
              // A stop that came since then decides what the results are, and a cancel what the final state is.
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

    async workspaceOf(batchId) {
      const item = await table.get(keys.operatorsBatch(batchId));
      return item?.workspace_id as string | undefined;
    },
  };
}

/** Newest first. */
async function openIds(table: Table, workspaceId: string): Promise<string[]> {
  const pages = table.queryPages({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': keys.openBatch(workspaceId, '').pk },
  });
  return (await Array.fromAsync(pages))
    .flat()
    .sort((one, other) => (other.created_at as string).localeCompare(one.created_at as string))
    .map((entry) => entry.sk as string);
}

const claimIsCurrent = (attempt: number) => ({
  ConditionExpression: 'attempt = :attempt AND #status = :processing',
  ExpressionAttributeNames: statusNames,
  ExpressionAttributeValues: { ':attempt': attempt, ':processing': 'processing' } as Item,
});

async function holds(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

/** False when the condition does not hold; a row that stands there already is this write, whose answer got lost. */
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
