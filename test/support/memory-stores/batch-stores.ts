import { isDeepStrictEqual } from 'node:util';
import { type Batch, type BatchItem, type BatchRequest, isOpen } from '#domain/batches/batch.ts';
import type { BatchStore, RequestEraser } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { DeliveryStore } from '#domain/webhooks/delivery-store.ts';
import { memoryBatchTransitions } from './batch-transitions.ts';
import type { MemoryChatStores } from './chat-stores.ts';
import { pageOf } from './page-of.ts';
import type { MemoryReconciliationIndex } from './reconciliation-index.ts';
import type { MemoryDeliveryStore } from './webhook-stores.ts';

export interface StoredBatch {
  batch: Batch;
  requests: BatchRequest[];
  items: Map<number, BatchItem>;
}

const ofUserIn = (stored: ReadonlyMap<string, StoredBatch>): RequestEraser['ofUser'] =>
  async function* ({ workspaceId, externalUserId }) {
    for (const { batch, requests } of stored.values()) {
      if (batch.workspaceId !== workspaceId) continue;
      const ofUser = requests.filter((request) => request.externalUserId === externalUserId);
      const requestIndexes = ofUser.map(({ requestIndex }) => requestIndex);
      if (ofUser.length > 0) yield [{ batchId: batch.id, createdAt: batch.createdAt, requestIndexes }];
    }
  };

export function memoryBatchStore({
  clock,
  chats,
  deliveries,
  index,
}: {
  clock: Clock;
  chats: Pick<MemoryChatStores, 'add'>;
  deliveries: Pick<MemoryDeliveryStore, 'add'>;
  index: MemoryReconciliationIndex;
}): BatchStore & Omit<RequestEraser, 'forget'> & { replaceWebhook: DeliveryStore['replaceWebhook'] } {
  /** In order of creation. */
  const stored = new Map<string, StoredBatch>();
  const nameOf = (workspaceId: string, batchId: string): string => JSON.stringify([workspaceId, batchId]);
  const find = ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): StoredBatch => {
    const found = stored.get(nameOf(workspaceId, id));
    if (found === undefined) throw new Error(`The batch ${id} is missing`);
    return found;
  };
  const openBatches = (workspaceId: string): Batch[] =>
    [...stored.values()]
      .map(({ batch }) => batch)
      .filter((batch) => batch.workspaceId === workspaceId && isOpen(batch));

  return {
    ...memoryBatchTransitions({
      clock,
      chats,
      find,
      onEnd(batch, delivery) {
        index.deleteOpenBatch(batch.id);
        if (delivery === null) return;
        deliveries.add(delivery);
        index.addWebhook({ workspaceId: batch.workspaceId, batchId: batch.id, due: delivery.nextAt });
      },
    }),

    async create(batch, requests, mostOpen) {
      const { workspaceId, id } = batch;
      if (stored.has(nameOf(workspaceId, id))) return 'exists';
      if (mostOpen !== null && openBatches(workspaceId).length >= mostOpen) return 'too-many';
      stored.set(
        nameOf(workspaceId, id),
        structuredClone({ batch, requests: [...requests], items: new Map() }),
      );
      index.addOpenBatch({ workspaceId, batchId: id });
      return 'created';
    },
    countOpen: async (workspaceId) => openBatches(workspaceId).length,
    get: async (workspaceId, batchId) => structuredClone(stored.get(nameOf(workspaceId, batchId))?.batch),
    async page(workspaceId, { status }, page) {
      const all = [...stored.values()].map(({ batch }) => batch);
      const isListed = (batch: Batch): boolean =>
        batch.workspaceId === workspaceId && (status === undefined || batch.status === status);
      const listed = all.flatMap((batch, number) => (isListed(batch) ? [number] : []));
      const { numbers, total, ends } = pageOf(listed, { ...page, ascending: false });
      return {
        total,
        batches: structuredClone(numbers.flatMap((number) => all[number] ?? [])),
        ends: status !== undefined && isOpen({ status }) ? undefined : ends,
      };
    },
    manifest: async (batch) =>
      find(batch).requests.map(({ customId, historyId, next }) => ({ customId, historyId, next })),
    requests: async (batch, requestIndexes) =>
      structuredClone(requestIndexes.flatMap((requestIndex) => find(batch).requests[requestIndex] ?? [])),
    async erase(batch, requestIndex) {
      const request = find(batch).requests[requestIndex];
      if (request !== undefined)
        Object.assign(request, { message: '', externalUserId: null, name: request.customId });
    },
    ofUser: ofUserIn(stored),
    replaceWebhook: replaceWebhookOf(find),
    items: async (batch, requestIndexes) =>
      structuredClone(requestIndexes.map((requestIndex) => find(batch).items.get(requestIndex))),
    allItems: async (batch) => structuredClone([...find(batch).items.values()]),
    async workspaceOf(batchId) {
      const found = [...stored.values()].find(({ batch }) => batch.id === batchId && batch.webhook !== null);
      return found?.batch.workspaceId;
    },
  };
}

const replaceWebhookOf =
  (find: (batch: Pick<Batch, 'workspaceId' | 'id'>) => StoredBatch): DeliveryStore['replaceWebhook'] =>
  async ({ workspaceId, batchId }, read, replacement) => {
    const { batch } = find({ workspaceId, id: batchId });
    if (!isDeepStrictEqual(batch.webhook, read)) return false;
    batch.webhook = replacement;
    return true;
  };
