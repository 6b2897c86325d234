import { type Batch, groupsOf, isOpen, type StopReason } from '#domain/batches/batch.ts';
import type { BatchTransitions } from '#domain/batches/batch-transitions.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { memoryItemTransitions } from './batch-item-transitions.ts';
import type { StoredBatch } from './batch-stores.ts';
import type { MemoryChatStores } from './chat-stores.ts';

export interface BatchTransitionSettings {
  clock: Clock;
  chats: Pick<MemoryChatStores, 'add'>;
  find(batch: Pick<Batch, 'workspaceId' | 'id'>): StoredBatch;
  /** For the end of a batch: its delivery, its list and its index entries. */
  onEnd(batch: Batch, delivery: Parameters<BatchTransitions['complete']>[2]): void;
}

export const memoryBatchTransitions = (settings: BatchTransitionSettings): BatchTransitions => ({
  ...enqueueTransitions(settings),
  ...endTransitions(settings),
  ...memoryItemTransitions(settings),
});

type Find = Pick<BatchTransitionSettings, 'find'>;

/** Undefined, and nothing changed, if the stored batch does not allow the change. */
function change(
  { find }: Find,
  batch: Batch,
  isAllowed: (stored: Batch) => boolean,
  changes: (stored: Batch) => Partial<Batch>,
): Batch | undefined {
  const found = find(batch);
  if (!isAllowed(found.batch)) return undefined;
  found.batch = structuredClone({ ...found.batch, ...changes(found.batch) });
  return structuredClone(found.batch);
}

const always = (): boolean => true;

const enqueueTransitions = (
  store: Find,
): Pick<
  BatchTransitions,
  'enqueueFirst' | 'markFirstEnqueued' | 'recordOutcomes' | 'requeueAll' | 'requeueLost' | 'takeGroups'
> => ({
  async enqueueFirst(batch, groups) {
    const isFirst = ({ groupsSent }: Batch): boolean => groupsSent === 0;
    const started = change(store, batch, isFirst, () => ({ groupsSent: groups, slots: groups }));
    return started ?? structuredClone(store.find(batch).batch);
  },
  async markFirstEnqueued(batch, at) {
    change(store, batch, always, ({ dispatchedAt }) => ({ dispatchedAt: dispatchedAt ?? at }));
  },
  takeGroups: async (batch, { completed, failed, slots }, { groups, slotLimit, at }) =>
    change(
      store,
      batch,
      (stored) =>
        stored.status === 'in_progress' &&
        stored.stop === null &&
        stored.groupsSent > 0 &&
        stored.slots + slots <= slotLimit &&
        stored.groupsSent + groups <= groupsOf(batch),
      (stored) => ({
        completed: stored.completed + completed,
        failed: stored.failed + failed,
        slots: stored.slots + slots,
        groupsSent: stored.groupsSent + groups,
        sentAt: at,
      }),
    ),
  recordOutcomes: async (batch, { completed, failed, slots }) =>
    change(store, batch, isOpen, (stored) => ({
      completed: stored.completed + completed,
      failed: stored.failed + failed,
      slots: stored.slots + slots,
    })),
  async requeueAll(batch, { at, groupsSent, slots }) {
    const isUnchanged = ({ sentAt }: Batch): boolean => sentAt === batch.sentAt;
    return change(store, batch, isUnchanged, () => ({ sentAt: at, groupsSent, slots }));
  },
  async requeueLost(batch, { at, slots }) {
    const isInProgress = ({ status }: Batch): boolean => status === 'in_progress';
    return change(store, batch, isInProgress, (stored) => ({ sentAt: at, slots: stored.slots + slots }));
  },
});

/** When the states of the stored task tokens were entered, by batch. */
const tokensAt = new WeakMap<object, Map<string, string>>();

const endTransitions = (
  store: Pick<BatchTransitionSettings, 'find' | 'onEnd'>,
): Pick<
  BatchTransitions,
  'cancel' | 'complete' | 'incrementExecutionNumber' | 'markExpired' | 'markFailed' | 'saveTaskToken'
> => ({
  async saveTaskToken(batch, taskToken, enteredAt = '') {
    const isNewest = (tokensAt.get(store)?.get(batch.id) ?? '') <= enteredAt;
    const saved = change(
      store,
      batch,
      (stored) => isOpen(stored) && isNewest,
      () => ({ taskToken }),
    );
    if (saved !== undefined) tokensAt.set(store, (tokensAt.get(store) ?? new Map()).set(batch.id, enteredAt));
    return saved;
  },
  async incrementExecutionNumber(batch) {
    const isUnchanged = ({ executionNumber }: Batch): boolean => executionNumber === batch.executionNumber;
    return change(store, batch, isUnchanged, ({ executionNumber }) => ({
      executionNumber: executionNumber + 1,
    }));
  },
  cancel: async (batch, at) => stop(store, batch, 'cancelled', at),
  markExpired: async (batch, at) => stop(store, batch, 'expired', at),
  markFailed: async (batch, at) => stop(store, batch, 'failed', at),
  async complete(batch, final, delivery) {
    const isUnchanged = (stored: Batch): boolean =>
      stored.status === batch.status && stored.stop?.reason === batch.stop?.reason;
    const ended = change(store, batch, isUnchanged, () => ({ ...final, taskToken: null }));
    if (ended !== undefined) store.onEnd(ended, delivery);
    return ended !== undefined;
  },
});

const stop = (store: Find, batch: Batch, reason: StopReason, at: string): Batch | undefined =>
  change(
    store,
    batch,
    ({ status, stop: stopped }) => status === 'in_progress' && (reason === 'cancelled' || stopped === null),
    (stored) => ({
      status: reason === 'cancelled' ? 'cancelling' : stored.status,
      stop: stored.stop ?? { reason, at },
    }),
  );
