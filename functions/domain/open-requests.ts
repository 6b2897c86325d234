import type { Batch, BatchItem } from './batch.ts';
import type { Services } from './services.ts';

export interface OpenRequests {
  completed: number;
  failed: number;
  /** Being done, under a lease that stands or does not. */
  processing: BatchItem[];
  /** Neither over nor being done, and with no unfinished request of the same history before them. */
  ready: number[];
  /** All that are neither over nor being done. */
  waiting: number;
}

/** What is left of a batch, counted from the rows themselves. */
export async function openRequests(services: Pick<Services, 'batches'>, batch: Batch): Promise<OpenRequests> {
  const [outline, items] = await Promise.all([
    services.batches.outline(batch),
    services.batches.allItems(batch),
  ]);
  const itemAt = new Map(items.map((item) => [item.position, item]));
  const isOver = (position: number): boolean => {
    const status = itemAt.get(position)?.status;
    return status === 'success' || status === 'failed';
  };
  const before = new Map(
    outline.flatMap(({ next }, position) => (next === null ? [] : [[next, position] as const])),
  );
  const waiting = outline
    .map((_, position) => position)
    .filter((position) => !isOver(position) && itemAt.get(position)?.status !== 'processing');
  return {
    completed: items.filter(({ status }) => status === 'success').length,
    failed: items.filter(({ status }) => status === 'failed').length,
    processing: items.filter(({ status }) => status === 'processing'),
    ready: waiting.filter((position) => {
      const earlier = before.get(position);
      return earlier === undefined || isOver(earlier);
    }),
    waiting: waiting.length,
  };
}
