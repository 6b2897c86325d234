import type { Batch, BatchItem } from './batch.ts';
import type { BatchServices } from './services.ts';

/** A request that a worker can process now, or as soon as it is due. */
interface ReadyRequest {
  requestIndex: number;
  /** Epoch milliseconds when the retry is due; null if it was enqueued with the batch. */
  due: number | null;
  /** Number of claims. */
  attempt: number;
}

export interface OpenRequests {
  completed: number;
  failed: number;
  /** Waiting for a retry, or failed, with the chat that they may own. */
  unanswered: Pick<BatchItem, 'requestIndex' | 'chatId'>[];
  /** Claimed; the lease may have expired. */
  processing: BatchItem[];
  /** Neither ended nor claimed, and without an unfinished request before them in the same history. */
  ready: ReadyRequest[];
  /** Number of requests that are neither ended nor claimed. */
  waiting: number;
}

/** The work that is left of a batch, from its items. */
export async function openRequests(
  services: Pick<BatchServices, 'batches'>,
  batch: Batch,
): Promise<OpenRequests> {
  const [manifest, items] = await Promise.all([
    services.batches.manifest(batch),
    services.batches.allItems(batch),
  ]);
  const itemAt = new Map(items.map((item) => [item.requestIndex, item]));
  const before = new Map(
    manifest.flatMap(({ next }, requestIndex) => (next === null ? [] : [[next, requestIndex] as const])),
  );
  const waiting = manifest
    .map((_, requestIndex) => requestIndex)
    .filter((requestIndex) => ['waiting', undefined].includes(itemAt.get(requestIndex)?.status));
  const ready = waiting.flatMap((requestIndex): ReadyRequest[] => {
    const item = itemAt.get(requestIndex);
    if (item !== undefined) return [{ requestIndex, due: item.leaseUntil, attempt: item.attempt }];
    const previous = before.get(requestIndex);
    if (previous === undefined) return [{ requestIndex, due: null, attempt: 0 }];
    const processedAt = itemAt.get(previous)?.processedAt;
    return processedAt == null ? [] : [{ requestIndex, due: Date.parse(processedAt), attempt: 0 }];
  });
  return {
    completed: items.filter(({ status }) => status === 'success').length,
    failed: items.filter(({ status }) => status === 'failed').length,
    unanswered: items
      .filter(({ status }) => status === 'waiting' || status === 'failed')
      // A worker acquires the lease of an existing chat (`history_id`) before it stores the chat in the item. So a
      // request whose item has no chat may still own that chat.
      .map(({ requestIndex, chatId }) => ({
        requestIndex,
        chatId: chatId ?? manifest[requestIndex]?.historyId ?? null,
      })),
    processing: items.filter(({ status }) => status === 'processing'),
    ready,
    waiting: waiting.length,
  };
}

/** No request is claimed, and none is left to be started. */
export const isNothingLeft = ({ stop }: Pick<Batch, 'stop'>, left: OpenRequests): boolean =>
  left.processing.length === 0 && (stop !== null || left.waiting === 0);

/** Names of the workers with a slot that have claimed the items. */
export const workersOf = (items: readonly BatchItem[]): Set<string> =>
  new Set(items.flatMap(({ worker }) => worker ?? []));
