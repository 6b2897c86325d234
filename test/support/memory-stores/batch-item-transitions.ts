import type { Batch, BatchItem } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim, ClaimedItem } from '#domain/batches/batch-transitions.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { BatchTransitionSettings } from './batch-transitions.ts';

type ItemTransitions = Pick<
  BatchTransitions,
  'assignChat' | 'claimItems' | 'failAbandonedItem' | 'finishItem' | 'renewItemLease' | 'scheduleRetry'
>;

type ClaimLease = Parameters<BatchTransitions['claimItems']>[2];

export const memoryItemTransitions = (store: BatchTransitionSettings): ItemTransitions => ({
  async claimItems(batch, claims, lease) {
    const { stop, expiresAt } = store.find(batch).batch;
    if (stop !== null || Date.parse(expiresAt) <= store.clock.now().getTime()) return [];
    // A DynamoDB transaction refuses two writes of one item.
    if (new Set(claims.map(({ request }) => request.requestIndex)).size < claims.length)
      throw new Error('A claim contains a request twice');
    return claims.flatMap((each) => claim(store, batch, each, lease));
  },
  async renewItemLease(batch, item, until) {
    const stored = store.find(batch).items.get(item.requestIndex);
    if (stored === undefined || !isCurrent(stored, item)) return false;
    stored.leaseUntil = until;
    return true;
  },
  assignChat: async (batch, item) => changeItem(store, batch, item),
  scheduleRetry: async (batch, item, due) =>
    changeItem(store, batch, { ...item, status: 'waiting', leaseUntil: due }),
  finishItem: async (batch, item) => changeItem(store, batch, item),
  failAbandonedItem: async (batch, item, leaseBefore) =>
    changeItem(store, batch, item, ({ leaseUntil }) => leaseUntil < leaseBefore),
});

/** @returns no item if somebody else has claimed the request */
function claim(
  { chats, clock, find }: BatchTransitionSettings,
  batch: Batch,
  { request, item, newChat }: Claim,
  lease: ClaimLease,
): ClaimedItem[] {
  const { items } = find(batch);
  const now = clock.now().getTime();
  const stored = items.get(request.requestIndex);
  if (!isFree(stored, now) || stored?.attempt !== item?.attempt) return [];
  const chatLease = { id: lease.chat.idOf(request.requestIndex), until: now + lease.chat.milliseconds };
  const [chat = null] = newChat === null ? [] : chats.add([{ ...newChat, lease: chatLease }]);
  const claimed = {
    ...claimedItem(request.requestIndex, item, chat),
    leaseUntil: now + lease.milliseconds,
    worker: lease.worker,
  };
  items.set(request.requestIndex, claimed);
  return [structuredClone({ request, item: claimed, newChat: chat })];
}

const isFree = (stored: BatchItem | undefined, now: number): boolean =>
  stored === undefined ||
  stored.status === 'waiting' ||
  (stored.status === 'processing' && stored.leaseUntil < now);

/** The item of the next attempt. An attempt that was processing until now has been lost. */
const claimedItem = (requestIndex: number, before: BatchItem | undefined, chat: Chat | null) => ({
  ...{ requestIndex, status: 'processing' as const },
  attempt: (before?.attempt ?? 0) + 1,
  brokenReplies: before?.brokenReplies ?? 0,
  lostAttempts: (before?.lostAttempts ?? 0) + (before?.status === 'processing' ? 1 : 0),
  ...(chat === null
    ? { chatId: before?.chatId ?? null, messagePosition: before?.messagePosition ?? null }
    : { chatId: chat.id, messagePosition: 1 }),
  ...{ error: null, incomplete: null, calls: [], processedAt: null },
});

const isCurrent = (stored: BatchItem | undefined, { attempt }: BatchItem): boolean =>
  stored?.attempt === attempt && stored.status === 'processing';

/** A write that is repeated after its response was lost succeeds too. */
function changeItem(
  { find }: Pick<BatchTransitionSettings, 'find'>,
  batch: Batch,
  item: BatchItem,
  isAllowed: (stored: BatchItem) => boolean = () => true,
): boolean {
  const { items } = find(batch);
  const stored = items.get(item.requestIndex);
  if (stored === undefined) return false;
  if (!isCurrent(stored, item) || !isAllowed(stored))
    return stored.attempt === item.attempt && stored.status === item.status;
  items.set(item.requestIndex, structuredClone(item));
  return true;
}
