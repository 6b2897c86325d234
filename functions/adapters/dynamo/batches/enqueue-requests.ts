import type { Table } from '#adapters/dynamo/table/table.ts';
import { groupsOf } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import { batchOf } from './batch-item.ts';
import { keyOf, openStatuses, statusNames, updateBatch } from './update-batch.ts';

export const enqueueFirst =
  (table: Table): BatchTransitions['enqueueFirst'] =>
  async (batch, groups) => {
    const started = await updateBatch(table, batch, {
      UpdateExpression: 'SET groups_sent = :groups, places = :groups',
      ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(groups_sent)',
      ExpressionAttributeValues: { ':groups': groups },
    });
    return started ?? batchOf(await table.getNamed(keyOf(batch)));
  };

export const markFirstEnqueued =
  (table: Table): BatchTransitions['markFirstEnqueued'] =>
  async (batch, at) => {
    await updateBatch(table, batch, {
      UpdateExpression: 'SET dispatched_at = if_not_exists(dispatched_at, :at)',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':at': at },
    });
  };

export const recordOutcomes =
  (table: Table): BatchTransitions['recordOutcomes'] =>
  (batch, { completed, failed, slots }) =>
    updateBatch(table, batch, {
      UpdateExpression: 'ADD completed :completed, failed :failed, places :places',
      ConditionExpression: '#status IN (:progress, :cancelling)',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ...{ ':completed': completed, ':failed': failed, ':places': slots },
        ...openStatuses,
      },
    });

export const takeGroups =
  (table: Table): BatchTransitions['takeGroups'] =>
  (batch, { completed, failed, slots }, { groups, slotLimit, at }) =>
    updateBatch(table, batch, {
      UpdateExpression:
        'SET sent_at = :at ADD completed :completed, failed :failed, places :places, groups_sent :groups',
      ConditionExpression:
        '#status = :progress AND attribute_not_exists(stop_reason) AND places <= :most AND groups_sent <= :sent',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ...{ ':completed': completed, ':failed': failed, ':at': at },
        ':places': slots,
        ':groups': groups,
        ':most': slotLimit - slots,
        ':sent': groupsOf(batch) - groups,
        ':progress': openStatuses[':progress'],
      },
    });

export const requeueAll =
  (table: Table): BatchTransitions['requeueAll'] =>
  (batch, { at, groupsSent, slots }) =>
    updateBatch(table, batch, {
      UpdateExpression: 'SET sent_at = :at, groups_sent = :groups, places = :places',
      ConditionExpression:
        batch.sentAt === null
          ? 'attribute_exists(pk) AND attribute_not_exists(sent_at)'
          : 'sent_at = :before',
      ExpressionAttributeValues: {
        ...{ ':at': at, ':groups': groupsSent, ':places': slots },
        ...(batch.sentAt !== null && { ':before': batch.sentAt }),
      },
    });

export const requeueLost =
  (table: Table): BatchTransitions['requeueLost'] =>
  (batch, { at, slots }) =>
    updateBatch(table, batch, {
      UpdateExpression: 'SET sent_at = :at ADD places :places',
      ConditionExpression: '#status = :progress',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: {
        ...{ ':at': at, ':places': slots },
        ':progress': openStatuses[':progress'],
      },
    });
