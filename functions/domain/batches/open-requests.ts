import type { Batch, BatchItem } from './batch.ts';
import type { BatchServices } from './services.ts';

/** A request that could be done now, or as soon as it is due. */
interface ReadyRequest {
  position: number;
  /** Milliseconds since the epoch: when its message is, or was, to come; null when that was when the batch was. */
  due: number | null;
  /** How often it was begun. */
  attempt: number;
}

export interface OpenRequests {
  completed: number;
  failed: number;
  /** Begun, and neither being done nor answered. */
  unanswered: BatchItem[];
  /** Being done, under a lease that stands or does not. */
  processing: BatchItem[];
  /** Neither over nor being done, and with no unfinished request of the same history before them. */
  ready: ReadyRequest[];
  /** All that are neither over nor being done. */
  waiting: number;
}

/** What is left of a batch, counted from the rows themselves. */
export async function openRequests(
  services: Pick<BatchServices, 'batches'>,
  batch: Batch,
): Promise<OpenRequests> {
  const [manifest, items] = await Promise.all([
    services.batches.manifest(batch),
    services.batches.allItems(batch),
  ]);
  const itemAt = new Map(items.map((item) => [item.position, item]));
  const before = new Map(
    manifest.flatMap(({ next }, position) => (next === null ? [] : [[next, position] as const])),
  );
  const waiting = manifest
    .map((_, position) => position)
    .filter((position) => ['waiting', undefined].includes(itemAt.get(position)?.status));
  const ready = waiting.flatMap((position): ReadyRequest[] => {
    const item = itemAt.get(position);
    if (item !== undefined) return [{ position, due: item.leaseUntil, attempt: item.attempt }];
    const previous = before.get(position);
    if (previous === undefined) return [{ position, due: null, attempt: 0 }];
    const processedAt = itemAt.get(previous)?.processedAt;
    return processedAt == null ? [] : [{ position, due: Date.parse(processedAt), attempt: 0 }];
  });
  return {
    completed: items.filter(({ status }) => status === 'success').length,
    failed: items.filter(({ status }) => status === 'failed').length,
    unanswered: items.filter(({ status }) => status === 'waiting' || status === 'failed'),
    processing: items.filter(({ status }) => status === 'processing'),
    ready,
    waiting: waiting.length,
  };
}

/** Nothing is being done, and nothing is to be done. */
export const isNothingLeft = ({ stop }: Pick<Batch, 'stop'>, left: OpenRequests): boolean =>
  left.processing.length === 0 && (stop !== null || left.waiting === 0);
