import { metadataItem, metadataOf, planChats } from '#adapters/dynamo/chats/chat-items.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { numbersOfCreation } from '#adapters/dynamo/table/lists.ts';
import {
  attributesNamed,
  attributesOf,
  fieldsOf,
  type Item,
  ifStill,
  type Table,
  withoutNulls,
} from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { WebhookEvent } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, Slot, StopReason } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/services.ts';

export function storedBatch(batch: Batch): Item {
  const { completed, failed, completedAt, cancelledAt, stop, ...stored } = batch;
  const { webhookEvents, executionNumber, slotsMade, metadata, ...same } = stored;
  return {
    ...keys.batch(batch.workspaceId, batch.id),
    ...withoutNulls(attributesOf(same)),
    ...metadataItem(metadata),
    ...{ run: executionNumber, next: 0, made: 0, slots: {} },
    ...(webhookEvents.length > 0 && { events: webhookEvents }),
  };
}

export function batchOf(item: Item): Batch {
  const { number, run, made, events, slots, stop_reason: reason, stopped_at: at, ...same } = item;
  const slotEntries = Object.entries((slots as Record<string, Item> | undefined) ?? {});
  return {
    ...{ completed: 0, failed: 0, completedAt: null, cancelledAt: null },
    ...fieldsOf<Batch>(same),
    ...metadataOf(item),
    stop: reason === undefined ? null : { reason: reason as StopReason, at: at as string },
    webhookEvents: (events as WebhookEvent[] | undefined) ?? [],
    executionNumber: run as number,
    slotsMade: made as number,
    slots: Object.fromEntries(slotEntries.map(([name, slot]) => [name, slotItems.fieldsOf(slot)])),
  };
}

/** The names are short, because DynamoDB bills the batch's whole item for each change of a slot. */
const slotItems = attributesNamed<Slot>({
  ...{ epoch: ['e'], owner: ['w', null], takes: ['n'], until: ['t'] },
  ...{ isClean: ['x'], first: ['b'], size: ['s'], named: ['r'] },
});

export const newSlot = (epoch: number, until: number): Item =>
  slotItems.itemOf({ epoch, owner: null, takes: 0, until, isClean: true, first: 0, size: 0, named: {} });

/** The names are short, because a write of an item costs one unit for each begun KB. */
const batchItems = attributesNamed<Omit<BatchItem, 'requestIndex' | 'processedAt'>>({
  status: ['status'],
  slot: ['k'],
  epoch: ['e'],
  attempt: ['attempt'],
  brokenReplies: ['broken', 0],
  lostAttempts: ['lost', 0],
  due: ['due', null],
  chatId: ['chat', null],
  messagePosition: ['message', null],
  error: ['error', null],
  incomplete: ['incomplete', null],
  calls: ['calls', []],
});

const storedBatchItem = ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>, item: BatchItem): Item => ({
  ...keys.batchItem(workspaceId, id, item.requestIndex),
  ...batchItems.itemOf(item),
  ...(item.processedAt !== null && { at: Date.parse(item.processedAt) }),
});

export const itemOf = (item: Item): BatchItem => ({
  requestIndex: Number(item.sk),
  ...batchItems.fieldsOf(item),
  processedAt: item.at === undefined ? null : new Date(item.at as number).toISOString(),
});

const attemptsToClaim = 20;

/** DynamoDB's maximum of writes in one transaction. */
const maxWrites = 100;

const chatsOf = (claims: readonly Claim[]): number => claims.filter(({ newChat }) => newChat !== null).length;

type Claimed = Awaited<ReturnType<BatchTransitions['claim']>>;

/** Uses several transactions for many requests. Requests that have an item already are left out of the result. */
export const claim = (table: Table, clock: Clock): BatchTransitions['claim'] =>
  async function claimAll(batch, claims, lease): Promise<Claimed> {
    if (claims.length === 0) return [];
    let wanted = claims;
    let others: readonly Claim[] = [];
    const claimed = await transactWithRetry<Claimed>(table, {
      attempts: attemptsToClaim,
      plan: async () => {
        for (;;) {
          const planned =
            chatsOf(wanted) <= numbersOfCreation && (await plan(table, clock, batch, wanted, lease));
          if (planned && planned.writes.length <= maxWrites) return planned;
          const half = Math.ceil(wanted.length / 2);
          others = [...wanted.slice(half), ...others];
          wanted = wanted.slice(0, half);
        }
      },
      onConditionFailed: (isTaken) => {
        wanted = wanted.filter((_, index) => isTaken[index] !== true);
        return wanted.length === 0 ? { result: [] } : undefined;
      },
    });
    return [...claimed, ...(await claimAll(batch, others, lease))];
  };

async function plan(
  table: Table,
  clock: Clock,
  batch: Batch,
  claims: readonly Claim[],
  lease: Parameters<BatchTransitions['claim']>[2],
) {
  const withChats = claims.flatMap(({ item: { requestIndex }, newChat }) =>
    newChat === null ? [] : [{ requestIndex, newChat }],
  );
  const newChats = withChats.map(({ requestIndex, newChat }) => ({
    ...newChat,
    lease: { id: lease.idOf(requestIndex), until: lease.until },
  }));
  const planned = await planChats(table, clock, newChats);
  const chatAt = new Map(withChats.map(({ requestIndex }, index) => [requestIndex, planned.chats[index]]));
  const result = claims.map(({ request, item }) => {
    const newChat = chatAt.get(item.requestIndex) ?? null;
    return { request, newChat, item: { ...item, chatId: newChat?.id ?? null } };
  });
  return {
    result,
    writes: [
      ...result.map(({ item }) => ({
        Put: { Item: storedBatchItem(batch, item), ConditionExpression: 'attribute_not_exists(pk)' },
      })),
      ...planned.writes,
    ],
  };
}

export const replaceItem =
  (table: Table): BatchTransitions['replaceItem'] =>
  async (batch, before, item) => {
    const { isDone, item: stored } = await table.putIf({
      Item: storedBatchItem(batch, item),
      // A new owner of a request raises the number of the attempt.
      ...ifStill({ attempt: before?.attempt, status: before?.status }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // An earlier attempt of the SDK may have written the item.
    return isDone || (stored?.e === item.epoch && stored.status === item.status);
  };
