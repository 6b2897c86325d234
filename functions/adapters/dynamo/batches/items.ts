import { planChats } from '#adapters/dynamo/chats/chat-writes.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { storedBatchItem } from './batch-item.ts';

/** Claims meet other creations of chats on one of 64 counts, so two attempts are rare. */
const attemptsToClaim = 20;

/** DynamoDB's limit of one transaction. Twenty requests of one agent and twenty users need 84 writes. */
const maxWrites = 100;

type Claimed = Awaited<ReturnType<BatchTransitions['claim']>>;

/** Stores items with the chats that they need, in as few transactions as hold them. */
export const claim = (table: Table, clock: Clock): BatchTransitions['claim'] =>
  async function claimAll(batch, claims, lease): Promise<Claimed> {
    if (claims.length === 0) return [];
    let wanted = claims;
    let others: readonly Claim[] = [];
    const claimed = await transactWithRetry<Claimed>(table, {
      attempts: attemptsToClaim,
      plan: async () => {
        let planned = await plan(table, clock, batch, wanted, lease);
        while (planned.writes.length > maxWrites) {
          const half = Math.ceil(wanted.length / 2);
          others = [...wanted.slice(half), ...others];
          wanted = wanted.slice(0, half);
          planned = await plan(table, clock, batch, wanted, lease);
        }
        return planned;
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
      ...(before === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            // Each owner of a request makes another attempt.
            ConditionExpression: 'attempt = :attempt AND #status = :status',
            ExpressionAttributeNames: { '#status': 'status' },
            ExpressionAttributeValues: { ':attempt': before.attempt, ':status': before.status },
          }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // An item of the same owner with the same status is this write, whose response was lost.
    return isDone || (stored?.e === item.epoch && stored.status === item.status);
  };
