import { batchItemPartitions, type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { counting, nextNumbers, readPage } from '#adapters/dynamo/table/lists.ts';
import {
  allOf,
  between,
  changingIf,
  fieldsOf,
  getAs,
  type Item,
  type Table,
  type Write,
  where,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst, transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { deliveryItem, webhookEntry } from '#adapters/dynamo/webhooks/delivery-store.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import { type Batch, isOpen } from '#domain/batches/batch.ts';
import type {
  BatchStore,
  BatchTransitions,
  ReconciliationIndex,
  WebhookEntry,
} from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { Webhook, WebhookDelivery } from '#domain/webhooks/webhook.ts';
import { readManifest, readRequest, requestItems } from './batch-requests.ts';
import { batchOf, claim, itemOf, replaceItem, storedBatch } from './items.ts';
import { batchAfter, slotTransitions } from './slots.ts';

const openBatchesUpdate = (workspaceId: string, added: 1 | -1, most: number | null): Write => ({
  Update: {
    Key: keys.openBatches(workspaceId),
    UpdateExpression: 'ADD n :added',
    ...(most !== null && { ConditionExpression: 'attribute_not_exists(n) OR n < :most' }),
    ExpressionAttributeValues: { ':added': added, ...(most !== null && { ':most': most }) },
  },
});

type Final = Parameters<BatchTransitions['complete']>[1];

const complete =
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
      // Fails if the batch was cancelled meanwhile: it must then end with another status.
      ...changingIf({ status, completed, failed, ...times, slots: null }, { status: batch.status }),
    },
  };
}

const deliveryPuts = (delivery: WebhookDelivery | null): Write[] =>
  delivery === null
    ? []
    : [{ Put: { Item: deliveryItem(delivery) } }, { Put: { Item: webhookEntry(delivery, delivery.nextAt) } }];

/**
 * Concurrent creations and ends of batches may conflict on the count of open batches. The pauses between the attempts
 * take about 2.5 s on average.
 */
const maxAttempts = 20;

export const dynamoBatchStore = (table: Table, clock: Clock): BatchStore => ({
  ...slotTransitions(table),
  complete: complete(table),
  ...changes(table, clock),
  claim: claim(table, clock),
  replaceItem: replaceItem(table),
  countOpen: async (workspaceId) =>
    ((await table.get(keys.openBatches(workspaceId)))?.n as number | undefined) ?? 0,
  get: (workspaceId, batchId) => getAs(table, keys.batch(workspaceId, batchId), batchOf),
  async page(workspaceId, { status }, page) {
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
  },

  manifest: (batch) => readManifest(table, batch),
  async requests(batch, requestIndexes) {
    const found = await Promise.all(requestIndexes.map((index) => readRequest(table, batch, index)));
    return found.filter((request) => request !== undefined);
  },
  async format({ workspaceId, id, hasFormat }) {
    if (hasFormat !== true) return undefined;
    const { format } = await table.getNamed(keys.batchFormat(workspaceId, id));
    return JSON.parse(format as string) as ResponseFormat;
  },
  item: ({ workspaceId, id }, requestIndex) =>
    getAs(table, keys.batchItem(workspaceId, id, requestIndex), itemOf),
  async allItems(batch) {
    const partitions = Array.from({ length: Math.min(batchItemPartitions, batch.total) }, (_, index) =>
      table.queryAll(allOf(keys.batchItem(batch.workspaceId, batch.id, index))),
    );
    return (await Promise.all(partitions)).flat().map(itemOf);
  },

  taskToken: async ({ workspaceId, id }) =>
    (await table.get(keys.batchToken(workspaceId, id)))?.token as string | undefined,
  webhook: async ({ workspaceId, id }) =>
    (await table.get(keys.batchWebhook(workspaceId, id)))?.webhook as Webhook | undefined,
  async workspaceOf(batchId) {
    const item = await table.get(keys.operatorsBatch(batchId));
    return item?.workspace_id as string | undefined;
  },
});

const changes = (table: Table, clock: Clock) =>
  ({
    async create(batch, requests, webhook, mostOpen, format) {
      await table.putAll(requestItems(batch, requests, format));
      const numbers = keys.lastNumber(batch.workspaceId, 'BATCHES');
      const { first: number } = await nextNumbers(table, clock, numbers, 1);
      return transactWithRetry<'created' | 'exists' | 'too-many'>(table, {
        attempts: maxAttempts,
        plan: async () => ({ writes: batchWrites({ batch, number, webhook }, mostOpen), result: 'created' }),
        onConditionFailed: ([exists]) => ({ result: exists === true ? 'exists' : 'too-many' }),
      });
    },

    incrementExecutionNumber: (batch) =>
      batchAfter(table, batch, {
        set: ['run = :next'],
        condition: 'run = :run',
        values: { ':next': batch.executionNumber + 1, ':run': batch.executionNumber },
      }),

    async saveTaskToken({ workspaceId, id }, token, enteredAt) {
      await table.putIf({
        Item: {
          ...keys.batchToken(workspaceId, id),
          ...{ token, entered_at: enteredAt, ttl: Math.floor(Date.parse(enteredAt) / 1000) + tokenSeconds },
        },
        ConditionExpression: 'attribute_not_exists(pk) OR entered_at <= :at',
        ExpressionAttributeValues: { ':at': enteredAt },
      });
    },
  }) satisfies Partial<BatchStore>;

/**
 * The first two have conditions: the first, that there is no such batch; the second, that the workspace may have one
 * more open batch, if it has a limit.
 */
function batchWrites(
  { batch, number, webhook }: { batch: Batch; number: number; webhook: Webhook | null },
  mostOpen: number | null,
): Write[] {
  const { workspaceId, id } = batch;
  const [all, open] = [keys.batchList(workspaceId, 'all'), keys.batchList(workspaceId, 'open')];
  const ofWebhook = [
    { ...keys.operatorsBatch(id), workspace_id: workspaceId },
    { ...keys.batchWebhook(workspaceId, id), webhook },
  ];
  const items = [
    { ...all.entry(number), id },
    { ...open.entry(number), id },
    { ...keys.operatorsOpenBatch(id), workspace_id: workspaceId },
    ...(webhook === null ? [] : ofWebhook),
  ];
  return [
    { Put: { Item: { ...storedBatch(batch), number }, ConditionExpression: 'attribute_not_exists(pk)' } },
    openBatchesUpdate(workspaceId, 1, mostOpen),
    ...items.map((Item) => ({ Put: { Item } })),
    ...counting([{ list: all, first: number, added: new Map([['n', 1]]) }]),
  ];
}

const tokenSeconds = 30 * 24 * 60 * 60;

async function openIds(table: Table, workspaceId: string): Promise<string[]> {
  const open = allOf(keys.batchList(workspaceId, 'open').entry(0));
  return (await table.queryAll({ ...open, ScanIndexForward: false })).map(({ id }) => id as string);
}

/** Enough for two rounds of the reconciler's concurrent checks. */
const webhooksPerPage = 32;

export function dynamoReconciliationIndex(table: Table): ReconciliationIndex {
  const { pk: webhooks } = keys.operatorsWebhook('', '', '');
  return {
    async openBatches() {
      const items = await table.queryAll(allOf(keys.operatorsOpenBatch('')));
      return items.map((item) => ({ workspaceId: item.workspace_id as string, batchId: item.sk as string }));
    },

    removeOpenBatch: ({ batchId }) => table.transact([{ Delete: { Key: keys.operatorsOpenBatch(batchId) } }]),

    async *workspacesWithWebhooks() {
      // A space sorts before every id. DynamoDB accepts no empty value of a key.
      let after = ' ';
      for (;;) {
        const pages = table.queryPages({ ...where('sk > :sk', { pk: webhooks, sk: after }), Limit: 1 });
        const first = (await pages.next()).value?.[0];
        if (first === undefined) return;
        const workspaceId = first.workspace_id as string;
        yield workspaceId;
        after = `${workspaceId}${afterSeparator}`;
      }
    },

    async *webhooksDue(workspaceId, until) {
      const due = between(
        keys.operatorsWebhook(workspaceId, '', ''),
        keys.operatorsWebhook(workspaceId, until, ''),
      );
      const pages = table.queryPages({ ...due, Limit: webhooksPerPage });
      for await (const page of pages) yield* page.map((item) => fieldsOf<WebhookEntry>(item));
    },

    moveWebhook: (entry, due) =>
      table.transact([{ Delete: { Key: keyOfEntry(entry) } }, { Put: { Item: webhookEntry(entry, due) } }]),
    removeWebhook: (entry) => table.transact([{ Delete: { Key: keyOfEntry(entry) } }]),
  };
}

/** Sorts after `#`, so that a workspace's id and this character sort after all keys of the workspace. */
const afterSeparator = '$';

const keyOfEntry = ({ workspaceId, due, batchId }: WebhookEntry): Key =>
  keys.operatorsWebhook(workspaceId, due, batchId);
