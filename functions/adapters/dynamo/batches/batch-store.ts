import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { appending, listIndexes, readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { batchItemPartitions, keys } from '#adapters/dynamo/table/keys.ts';
import type { Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { type Batch, isOpen } from '#domain/batches/batch.ts';
import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import { batchOf, itemOf, storedBatch } from './batch-item.ts';
import { readManifest, readRequests, requestItems } from './batch-requests.ts';
import { complete } from './complete-batch.ts';
import { claim, replaceItem } from './items.ts';
import { slotTransitions, updateBatch } from './slots.ts';

export const dynamoBatchStore = (table: Table, clock: Clock): BatchStore => ({
  ...slotTransitions(table),
  complete: complete(table),
  incrementExecutionNumber: incrementExecutionNumber(table),
  saveTaskToken: saveTaskToken(table),
  claim: claim(table, clock),
  replaceItem: replaceItem(table),
  create: create(table),
  countOpen: async (workspaceId) => (await openIds(table, workspaceId)).length,
  get: get(table),
  page: page(table),
  manifest: (batch) => readManifest(table, batch),
  requests: (batch, requestIndexes) => readRequests(table, batch, requestIndexes),
  item: item(table),
  allItems: allItems(table),
  taskToken: async ({ workspaceId, id }) =>
    (await table.get(keys.batchToken(workspaceId, id)))?.token as string | undefined,
  webhook: async ({ workspaceId, id }) =>
    (await table.get(keys.batchWebhook(workspaceId, id)))?.webhook as Webhook | undefined,
  workspaceOf: workspaceOf(table),
});

const create =
  (table: Table): BatchStore['create'] =>
  async (batch, requests, webhook, checkLimit) => {
    await table.putAll(requestItems(batch, requests));
    return transactIfFirst(table, async () => {
      const head = await readHead<string>(table, keys.batchList(batch.workspaceId, 'all'));
      // The open batches are read after the head of the list. If another batch is created in between, the head changes,
      // the write fails, and this plan is made again.
      if (checkLimit !== null)
        checkLimit((await openIds(table, batch.workspaceId)).filter((id) => id !== batch.id).length);
      return (TableName) => [
        ...batchPuts(TableName, batch, webhook),
        ...appending(TableName, head, [batch.id]),
      ];
    });
  };

/** Puts a new batch, its webhook, and the index entries by which it is found. */
function batchPuts(TableName: string, batch: Batch, webhook: Webhook | null): Write[] {
  const { id, workspaceId, createdAt } = batch;
  const entry = { workspace_id: workspaceId, created_at: createdAt };
  const ofWebhook = [
    { ...keys.operatorsBatch(id), workspace_id: workspaceId },
    { ...keys.batchWebhook(workspaceId, id), webhook },
  ];
  return [
    { Put: { TableName, Item: storedBatch(batch), ConditionExpression: 'attribute_not_exists(pk)' } },
    { Put: { TableName, Item: { ...keys.openBatch(workspaceId, id), ...entry } } },
    { Put: { TableName, Item: { ...keys.operatorsOpenBatch(id), ...entry } } },
    ...(webhook === null ? [] : ofWebhook.map((Item) => ({ Put: { TableName, Item } }))),
  ];
}

const incrementExecutionNumber =
  (table: Table): BatchStore['incrementExecutionNumber'] =>
  async (batch) => {
    const item = await updateBatch(table, batch, {
      set: ['run = :next'],
      condition: 'run = :run',
      values: { ':next': batch.executionNumber + 1, ':run': batch.executionNumber },
    });
    return item && batchOf(item);
  };

/** Seconds that a token is stored: longer than the longest batch. */
const tokenSeconds = 30 * 24 * 60 * 60;

const saveTaskToken =
  (table: Table): BatchStore['saveTaskToken'] =>
  async ({ workspaceId, id }, token, enteredAt) => {
    try {
      await table.put({
        Item: {
          ...keys.batchToken(workspaceId, id),
          ...{ token, entered_at: enteredAt, ttl: Math.floor(Date.parse(enteredAt) / 1000) + tokenSeconds },
        },
        ConditionExpression: 'attribute_not_exists(pk) OR entered_at <= :at',
        ExpressionAttributeValues: { ':at': enteredAt },
      });
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  };

const get =
  (table: Table): BatchStore['get'] =>
  async (workspaceId, batchId) => {
    const item = await table.get(keys.batch(workspaceId, batchId));
    return item && batchOf(item);
  };

const page =
  (table: Table): BatchStore['page'] =>
  async (workspaceId, { status }, { limit, offset }) => {
    const read = async (ids: string[]): Promise<Batch[]> =>
      (await Promise.all(ids.map((id) => table.getNamed(keys.batch(workspaceId, id))))).map(batchOf);
    if (status !== undefined && isOpen({ status })) {
      const open = (await read(await openIds(table, workspaceId))).filter((batch) => batch.status === status);
      return { total: open.length, batches: open.slice(offset, offset + limit) };
    }
    const head = await readHead<string>(table, keys.batchList(workspaceId, status ?? 'all'));
    const last = head.count - offset - 1;
    if (last < 0) return { total: head.count, batches: [] };
    const ids = await readIds(table, head, listIndexes(Math.max(last - limit + 1, 0), last));
    return { total: head.count, batches: await read(ids.reverse()) };
  };

const item =
  (table: Table): BatchStore['item'] =>
  async ({ workspaceId, id }, requestIndex) => {
    const found = await table.get(keys.batchItem(workspaceId, id, requestIndex));
    return found && itemOf(found);
  };

const allItems =
  (table: Table): BatchStore['allItems'] =>
  async (batch) => {
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
  };

const workspaceOf =
  (table: Table): BatchStore['workspaceOf'] =>
  async (batchId) => {
    const item = await table.get(keys.operatorsBatch(batchId));
    return item?.workspace_id as string | undefined;
  };

/** Ids of the workspace's open batches, newest first. */
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
