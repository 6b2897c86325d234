import { planChats } from '#adapters/dynamo/chats/plan-chats.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Batch, BatchItem } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim, ClaimedItem } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { storedBatchItem } from './batch-item.ts';

/**
 * All claims that create chats change the workspace's chat count, so only one of them succeeds at a time. A claim may
 * have to wait for twenty workers, each with a transaction of some milliseconds.
 */
const attemptsToClaim = 60;

type Lease = Parameters<BatchTransitions['claimItems']>[2];

/**
 * One transaction claims up to ten requests and creates the chats that they need. Its first write checks that the batch
 * accepts work. A stop updates the same item, so either the claim or the stop comes first.
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
  return transactWithRetry<ClaimedItem[]>(table, {
    attempts: attemptsToClaim,
    plan: async () => {
      const { claimedItems, writes } = await plan(table, clock, batch, wanted, lease);
      return { writes, result: claimedItems };
    },
    onConditionFailed: ([isStopped, ...isTaken]) => {
      wanted = isStopped === true ? [] : wanted.filter((_, index) => isTaken[index] !== true);
      return wanted.length === 0 ? { result: [] } : undefined;
    },
  });
}

async function plan(
  table: Table,
  clock: Clock,
  batch: Batch,
  claims: readonly Claim[],
  lease: Lease,
): Promise<{ claimedItems: ClaimedItem[]; writes: (TableName: string) => Write[] }> {
  const now = clock.now();
  const until = now.getTime() + lease.milliseconds;
  const withChats = claims.flatMap(({ request: { requestIndex }, newChat }) =>
    newChat === null ? [] : [{ requestIndex, newChat }],
  );
  const chatLeaseUntil = now.getTime() + lease.chat.milliseconds;
  const newChats = withChats.map(({ requestIndex, newChat }) => ({
    ...newChat,
    lease: { id: lease.chat.idOf(requestIndex), until: chatLeaseUntil },
  }));
  const planned =
    newChats.length === 0
      ? { chats: [], writes: () => [] }
      : await planChats(table, clock, batch.workspaceId, newChats);
  const chatAt = new Map(withChats.map(({ requestIndex }, index) => [requestIndex, planned.chats[index]]));
  const claimedItems = claims.map(({ request, item }): ClaimedItem => {
    const newChat = chatAt.get(request.requestIndex) ?? null;
    return { request, newChat, item: claimed(request.requestIndex, item, newChat?.id ?? null, until) };
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
  leaseUntil: number,
): BatchItem => ({
  requestIndex,
  status: 'processing',
  attempt: (before?.attempt ?? 0) + 1,
  brokenReplies: before?.brokenReplies ?? 0,
  lostAttempts: (before?.lostAttempts ?? 0) + (before?.status === 'processing' ? 1 : 0),
  leaseUntil,
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
