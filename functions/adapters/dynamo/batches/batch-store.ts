import { batchItemPartitions, keys } from '#adapters/dynamo/table/keys.ts';
import { counting, nextNumbers, readPage } from '#adapters/dynamo/table/lists.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { type Batch, isOpen } from '#domain/batches/batch.ts';
import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { batchOf, itemOf, storedBatch } from './batch-item.ts';
import { readManifest, readRequests, requestItems } from './batch-requests.ts';
import { dynamoBatchTransitions } from './batch-transitions.ts';
import { openBatchesUpdate } from './open-batches.ts';

/** With the delays about 4 s. All creations and ends of batches of a workspace change the number of the open ones. */
const maxAttempts = 20;

export const dynamoBatchStore = (table: Table, clock: Clock): BatchStore => ({
  ...dynamoBatchTransitions(table, clock),
  create: create(table, clock),
  countOpen: async (workspaceId) =>
    ((await table.get(keys.openBatches(workspaceId)))?.n as number | undefined) ?? 0,
  get: get(table),
  page: page(table),
  manifest: (batch) => readManifest(table, batch),
  requests: (batch, requestIndexes) => readRequests(table, batch, requestIndexes),
  items: items(table),
  allItems: allItems(table),
  workspaceOf: workspaceOf(table),
});

const create =
  (table: Table, clock: Clock): BatchStore['create'] =>
  async (batch, requests, mostOpen) => {
    await table.putAll(requestItems(batch, requests));
    const numbers = keys.lastNumber(batch.workspaceId, 'BATCHES');
    const { first: number } = await nextNumbers(table, clock, numbers, 1);
    return transactWithRetry<'created' | 'exists' | 'too-many'>(table, {
      attempts: maxAttempts,
      plan: async () => ({
        writes: (TableName) => batchWrites(TableName, batch, number, mostOpen),
        result: 'created',
      }),
      onConditionFailed: ([exists]) => ({ result: exists === true ? 'exists' : 'too-many' }),
    });
  };

/**
 * Puts a new batch, the item that says whether it accepts work, and the index entries by which it is found. The first two
 * have conditions: that there is no such batch, and that the workspace may have one more.
 */
function batchWrites(TableName: string, batch: Batch, number: number, mostOpen: number | null): Write[] {
  const { workspaceId, id } = batch;
  const acceptsWork = {
    ...keys.batchAcceptsWork(workspaceId, id),
    open: true,
    expires: Date.parse(batch.expiresAt),
  };
  const [all, open] = [keys.batchList(workspaceId, 'all'), keys.batchList(workspaceId, 'open')];
  const items = [
    acceptsWork,
    { ...all.entry(number), id },
    { ...open.entry(number), id },
    { ...keys.operatorsOpenBatch(id), workspace_id: workspaceId },
    ...(batch.webhook === null ? [] : [{ ...keys.operatorsBatch(id), workspace_id: workspaceId }]),
  ];
  return [
    {
      Put: {
        TableName,
        Item: { ...storedBatch(batch), number },
        ConditionExpression: 'attribute_not_exists(pk)',
      },
    },
    openBatchesUpdate(TableName, workspaceId, 1, mostOpen),
    ...items.map((Item) => ({ Put: { TableName, Item } })),
    ...counting(TableName, [{ list: all, first: number, added: new Map([['n', 1]]) }]),
  ];
}

const get =
  (table: Table): BatchStore['get'] =>
  async (workspaceId, batchId) => {
    const item = await table.get(keys.batch(workspaceId, batchId));
    return item && batchOf(item);
  };

const page =
  (table: Table): BatchStore['page'] =>
  async (workspaceId, { status }, page) => {
    const read = async (ids: string[]): Promise<Batch[]> =>
      (await Promise.all(ids.map((id) => table.getNamed(keys.batch(workspaceId, id))))).map(batchOf);
    if (status !== undefined && isOpen({ status })) {
      const { limit, offset } = page;
      const open = (await read(await openIds(table, workspaceId))).filter((batch) => batch.status === status);
      return { total: open.length, batches: open.slice(offset, offset + limit), ends: undefined };
    }
    const list = keys.batchList(workspaceId, status ?? 'all');
    const newestFirst = { ...page, ascending: false };
    const reading = { count: 'n', numbersIn: ({ sk }: Item) => [Number(sk)] };
    const { total, listed, ends } = await readPage(table, list, newestFirst, reading);
    return { total, batches: await read(listed.map(({ entry }) => entry.id as string)), ends };
  };

const items =
  (table: Table): BatchStore['items'] =>
  (batch, requestIndexes) =>
    Promise.all(
      requestIndexes.map(async (requestIndex) => {
        const item = await table.get(keys.batchItem(batch.workspaceId, batch.id, requestIndex));
        return item && itemOf(item);
      }),
    );

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
    ExpressionAttributeValues: { ':pk': keys.batchList(workspaceId, 'open').entry(0).pk },
    ScanIndexForward: false,
  });
  return (await Array.fromAsync(pages)).flat().map(({ id }) => id as string);
}
