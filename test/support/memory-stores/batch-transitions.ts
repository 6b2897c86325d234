import { type Batch, type BatchItem, groupsOf, isOpen, type StopReason } from '#domain/batches/batch.ts';
import type { BatchTransitions, Claim, ClaimedItem } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { StoredBatch } from './batch-stores.ts';
import type { MemoryChatStores } from './chat-stores.ts';

export interface BatchTransitionSettings {
  clock: Clock;
  chats: Pick<MemoryChatStores, 'add'>;
  find(batch: Pick<Batch, 'workspaceId' | 'id'>): StoredBatch;
  /** For the end of a batch: its delivery, its list and its index entries. */
  onEnd(batch: Batch, delivery: Parameters<BatchTransitions['complete']>[2]): void;
}

export function memoryBatchTransitions({
  clock,
  chats,
  find,
  onEnd,
}: BatchTransitionSettings): BatchTransitions {
  const change = (
    batch: Batch,
    isAllowed: (stored: Batch) => boolean,
    changes: (stored: Batch) => Partial<Batch>,
  ): Batch | undefined => {
    const found = find(batch);
    if (!isAllowed(found.batch)) return undefined;
    found.batch = structuredClone({ ...found.batch, ...changes(found.batch) });
    return structuredClone(found.batch);
  };

  const stop = (batch: Batch, reason: StopReason, at: string): Batch | undefined =>
    change(
      batch,
      ({ status, stop: stopped }) => status === 'in_progress' && (reason === 'cancelled' || stopped === null),
      (stored) => ({
        status: reason === 'cancelled' ? 'cancelling' : stored.status,
        stop: stored.stop ?? { reason, at },
      }),
    );

  const isCurrent = (stored: BatchItem | undefined, { attempt }: BatchItem): boolean =>
    stored?.attempt === attempt && stored.status === 'processing';

  /** A write that is repeated after its response was lost succeeds too. */
  const changeItem = (
    batch: Batch,
    item: BatchItem,
    isAllowed: (stored: BatchItem) => boolean = () => true,
  ): boolean => {
    const { items } = find(batch);
    const stored = items.get(item.position);
    if (stored === undefined) return false;
    if (!isCurrent(stored, item) || !isAllowed(stored))
      return stored.attempt === item.attempt && stored.status === item.status;
    items.set(item.position, structuredClone(item));
    return true;
  };

  const claim = (
    batch: Batch,
    { request, item, newChat }: Claim,
    lease: Parameters<BatchTransitions['claimItems']>[2],
  ): ClaimedItem[] => {
    const { items } = find(batch);
    const now = clock.now().getTime();
    const stored = items.get(request.position);
    const isFree =
      stored === undefined ||
      stored.status === 'waiting' ||
      (stored.status === 'processing' && stored.leaseUntil < now);
    if (!isFree || stored?.attempt !== item?.attempt) return [];
    const [chat = null] =
      newChat === null
        ? []
        : chats.add([
            {
              ...newChat,
              lease: { id: lease.chat.idOf(request.position), until: now + lease.chat.milliseconds },
            },
          ]);
    const claimed: BatchItem = {
      position: request.position,
      status: 'processing',
      attempt: (item?.attempt ?? 0) + 1,
      brokenReplies: item?.brokenReplies ?? 0,
      lostAttempts: (item?.lostAttempts ?? 0) + (item?.status === 'processing' ? 1 : 0),
      leaseUntil: now + lease.milliseconds,
      chatId: chat?.id ?? item?.chatId ?? null,
      messagePosition: chat === null ? (item?.messagePosition ?? null) : 1,
      ...{ error: null, incomplete: null, calls: [], processedAt: null },
    };
    items.set(request.position, claimed);
    return [structuredClone({ request, item: claimed, newChat: chat })];
  };

  return {
    async enqueueFirst(batch, groups) {
      const isFirst = ({ groupsSent }: Batch): boolean => groupsSent === 0;
      const started = change(batch, isFirst, () => ({ groupsSent: groups, slots: groups }));
      return started ?? structuredClone(find(batch).batch);
    },
    async markFirstEnqueued(batch, at) {
      change(
        batch,
        () => true,
        ({ dispatchedAt }) => ({ dispatchedAt: dispatchedAt ?? at }),
      );
    },
    saveTaskToken: async (batch, taskToken) => change(batch, isOpen, () => ({ taskToken })),
    enqueueNext: async (batch, { completed, failed, slots }, { groups, slotLimit, at }) =>
      change(
        batch,
        (stored) =>
          stored.status === 'in_progress' &&
          stored.stop === null &&
          stored.groupsSent > 0 &&
          stored.slots + slots + groups <= slotLimit &&
          stored.groupsSent + groups <= groupsOf(batch),
        (stored) => ({
          completed: stored.completed + completed,
          failed: stored.failed + failed,
          slots: stored.slots + slots + groups,
          groupsSent: stored.groupsSent + groups,
          sentAt: at,
        }),
      ),
    recordOutcomes: async (batch, { completed, failed, slots }) =>
      change(batch, isOpen, (stored) => ({
        completed: stored.completed + completed,
        failed: stored.failed + failed,
        slots: stored.slots + slots,
      })),
    requeueAll: async (batch, { at, groupsSent, slots }) =>
      change(
        batch,
        ({ sentAt }) => sentAt === batch.sentAt,
        () => ({ sentAt: at, groupsSent, slots }),
      ),
    requeueLost: async (batch, { at, slots }) =>
      change(
        batch,
        ({ status }) => status === 'in_progress',
        (stored) => ({ sentAt: at, slots: stored.slots + slots }),
      ),
    incrementExecutionNumber: async (batch) =>
      change(
        batch,
        ({ executionNumber }) => executionNumber === batch.executionNumber,
        ({ executionNumber }) => ({ executionNumber: executionNumber + 1 }),
      ),
    cancel: async (batch, at) => stop(batch, 'cancelled', at),
    markExpired: async (batch, at) => stop(batch, 'expired', at),
    markFailed: async (batch, at) => stop(batch, 'failed', at),
    async complete(batch, final, delivery) {
      const ended = change(
        batch,
        (stored) => stored.status === batch.status && stored.stop?.reason === batch.stop?.reason,
        () => ({ ...final, taskToken: null }),
      );
      if (ended !== undefined) onEnd(ended, delivery);
      return ended !== undefined;
    },

    async claimItems(batch, claims, lease) {
      const { stop: stopped, expiresAt } = find(batch).batch;
      if (stopped !== null || Date.parse(expiresAt) <= clock.now().getTime()) return [];
      return claims.flatMap((each) => claim(batch, each, lease));
    },
    async renewItemLease(batch, item, until) {
      const stored = find(batch).items.get(item.position);
      if (stored === undefined || !isCurrent(stored, item)) return false;
      stored.leaseUntil = until;
      return true;
    },
    assignChat: async (batch, item) => changeItem(batch, item),
    scheduleRetry: async (batch, item, due) =>
      changeItem(batch, { ...item, status: 'waiting', leaseUntil: due }),
    finishItem: async (batch, item) => changeItem(batch, item),
    failAbandonedItem: async (batch, item, leaseBefore) =>
      changeItem(batch, item, ({ leaseUntil }) => leaseUntil < leaseBefore),
  };
}
