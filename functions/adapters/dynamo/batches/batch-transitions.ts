import type { Table } from '#adapters/dynamo/table/table.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { claimItems } from './batch-claims.ts';
import { failAbandonedItem, renewItemLease, saveItem, scheduleRetry } from './batch-item-transitions.ts';
import { complete, stop } from './end-batch.ts';
import {
  enqueueFirst,
  markFirstEnqueued,
  recordOutcomes,
  requeueAll,
  requeueLost,
  takeGroups,
} from './enqueue-requests.ts';
import { openStatuses, statusNames, updateBatch } from './update-batch.ts';

export const dynamoBatchTransitions = (table: Table, clock: Clock): BatchTransitions => ({
  enqueueFirst: enqueueFirst(table),
  markFirstEnqueued: markFirstEnqueued(table),
  saveTaskToken: saveTaskToken(table),
  takeGroups: takeGroups(table),
  recordOutcomes: recordOutcomes(table),
  requeueAll: requeueAll(table),
  requeueLost: requeueLost(table),
  incrementExecutionNumber: incrementExecutionNumber(table),
  cancel: stop(table, 'cancelled'),
  markExpired: stop(table, 'expired'),
  markFailed: stop(table, 'failed'),
  complete: complete(table),

  claimItems: (batch, claims, lease) => claimItems(table, clock, batch, claims, lease),
  renewItemLease: renewItemLease(table),
  assignChat: saveItem(table),
  scheduleRetry: scheduleRetry(table),
  finishItem: saveItem(table),
  failAbandonedItem: failAbandonedItem(table),
});

const saveTaskToken =
  (table: Table): BatchTransitions['saveTaskToken'] =>
  (batch, taskToken, enteredAt = '') =>
    updateBatch(table, batch, {
      UpdateExpression: 'SET task_token = :token, token_at = :at',
      ConditionExpression:
        '#status IN (:progress, :cancelling) AND (attribute_not_exists(token_at) OR token_at <= :at)',
      ExpressionAttributeNames: statusNames,
      ExpressionAttributeValues: { ':token': taskToken, ':at': enteredAt, ...openStatuses },
    });

const incrementExecutionNumber =
  (table: Table): BatchTransitions['incrementExecutionNumber'] =>
  (batch) =>
    updateBatch(table, batch, {
      UpdateExpression: 'SET run = :next',
      ConditionExpression: 'run = :run',
      ExpressionAttributeValues: { ':next': batch.executionNumber + 1, ':run': batch.executionNumber },
    });
