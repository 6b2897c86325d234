import { planChats } from '#adapters/dynamo/chats/chat-writes.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Batch, BatchItem } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim, ClaimedItem } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { storedBatchItem } from './batch-item.ts';

/** Claims meet other creations of chats on one of 64 counts, so two attempts are rare. */
const attemptsToClaim = 60;

/** Milliseconds. */
const longestPlan = 2000;

type Lease = Parameters<BatchTransitions['claimItems']>[2];

/** DynamoDB's limit of one transaction. Twenty requests of one agent and twenty users need 85 writes. */
const maxWrites = 100;

/**
 * One transaction claims requests and creates the chats that they need; requests that do not fit into it are claimed by
 * another one. Its first write checks that the batch accepts work. A stop updates the same item, so either the claim or
 * the stop comes first.
 */
export async function claimItems(
  table: Table,
  clock: Clock,
  batch: Batch,
  claims: readonly Claim[],
  lease: Lease,
): Promise<ClaimedItem[]> {
  if (claims.length === 0) return [];
  let wanted = claims;
  let others: readonly Claim[] = [];
  const claimedItems = await transactWithRetry<ClaimedItem[]>(table, {
    attempts: attemptsToClaim,
    plan: async () => {
      let planned = await plan(table, clock, batch, wanted, lease);
      while (planned.writes('').length > maxWrites) {
        const half = Math.ceil(wanted.length / 2);
        others = [...wanted.slice(half), ...others];
        wanted = wanted.slice(0, half);
        planned = await plan(table, clock, batch, wanted, lease);
      }
      return { writes: planned.writes, result: planned.claimedItems };
    },
    onConditionFailed: ([isStopped, ...isTaken]) => {
      wanted = isStopped === true ? [] : wanted.filter((_, index) => isTaken[index] !== true);
      return wanted.length === 0 ? { result: [] } : undefined;
    },
  });
  // The response may have been so late that the leases have ended. Then others have the requests.
  const now = clock.now().getTime();
  const owned = claimedItems.filter(({ item }) => item.leaseUntil > now);
  return [...owned, ...(await claimItems(table, clock, batch, others, lease))];
}

async function plan(
  table: Table,
  clock: Clock,
  batch: Batch,
  claims: readonly Claim[],
  lease: Lease,
): Promise<{ claimedItems: ClaimedItem[]; writes: (TableName: string) => Write[] }> {
  const now = clock.now();
  const owner = { until: now.getTime() + lease.milliseconds, worker: lease.worker };
  const withChats = claims.flatMap(({ request: { requestIndex }, newChat }) =>
    newChat === null ? [] : [{ requestIndex, newChat }],
  );
  const chatLeaseUntil = now.getTime() + lease.chat.milliseconds;
  const newChats = withChats.map(({ requestIndex, newChat }) => ({
    ...newChat,
    lease: { id: lease.chat.idOf(requestIndex), until: chatLeaseUntil },
  }));
  const planned = await planChats(table, clock, newChats);
  // The response was late. Leases begin when they are written, so they are planned again, with other ids.
  if (clock.now().getTime() > now.getTime() + longestPlan) return plan(table, clock, batch, claims, lease);
  const chatAt = new Map(withChats.map(({ requestIndex }, index) => [requestIndex, planned.chats[index]]));
  const claimedItems = claims.map(({ request, item }): ClaimedItem => {
    const newChat = chatAt.get(request.requestIndex) ?? null;
    return { request, newChat, item: claimed(request.requestIndex, item, newChat?.id ?? null, owner) };
  });
  return {
    claimedItems,
    writes: (TableName) => [
      {
        ConditionCheck: {
          TableName,
          Key: keys.batchAcceptsWork(batch.workspaceId, batch.id),
          ConditionExpression: '#open = :open AND expires > :now',
          ExpressionAttributeNames: { '#open': 'open' },
          ExpressionAttributeValues: { ':open': true, ':now': now.getTime() },
        },
      },
      ...claimedItems.map(({ item }, index) => ({
        Put: { TableName, Item: storedBatchItem(batch, item), ...asRead(claims[index]?.item, now) },
      })),
      ...planned.writes(TableName),
    ],
  };
}

const claimed = (
  requestIndex: number,
  before: BatchItem | undefined,
  chatId: number | null,
  { until, worker }: { until: number; worker: string | null },
): BatchItem => ({
  requestIndex,
  status: 'processing',
  attempt: (before?.attempt ?? 0) + 1,
  brokenReplies: before?.brokenReplies ?? 0,
  lostAttempts: (before?.lostAttempts ?? 0) + (before?.status === 'processing' ? 1 : 0),
  leaseUntil: until,
  worker,
  chatId: chatId ?? before?.chatId ?? null,
  // If this claim creates the chat, the message of the request is the chat's first one.
  messagePosition: chatId === null ? (before?.messagePosition ?? null) : 1,
  error: null,
  incomplete: null,
  calls: [],
  processedAt: null,
});

const asRead = (item: BatchItem | undefined, now: Date): Item =>
  item === undefined
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : {
        ConditionExpression:
          'attempt = :attempt AND (#status = :waiting OR (#status = :processing AND lease < :now))',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: {
          ':attempt': item.attempt,
          ':waiting': 'waiting',
          ':processing': 'processing',
          ':now': now.getTime(),
        },
      };
