import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, ChatBatchClient } from '#lib/client/index.ts';

export const hasEnded = ({ status }: Batch): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Reads one batch after another: the rate limiter would reject a thousand concurrent requests. */
export async function readBatches(client: ChatBatchClient, batchIds: readonly string[]): Promise<Batch[]> {
  const found: Batch[] = [];
  for (const id of batchIds) found.push(await client.batches.get(id));
  return found;
}

/** Short enough to show progress to a person, and far below the rate limit of a key (20 reads a second). */
const pauseSeconds = 1;

/** Polls the batches until all have ended. */
export async function watchBatches(
  client: ChatBatchClient,
  batchIds: readonly string[],
  onChange: (batches: Batch[]) => void,
): Promise<Batch[]> {
  const batches = await readBatches(client, batchIds);
  onChange(batches);
  while (!batches.every(hasEnded)) {
    await pause(pauseSeconds * 1000);
    for (const [index, batch] of batches.entries())
      if (!hasEnded(batch)) {
        batches[index] = await client.batches.get(batch.id);
        onChange(batches);
      }
  }
  return batches;
}

export function countRequests(batches: readonly Batch[]) {
  const sum = (count: (batch: Batch) => number): number =>
    batches.reduce((total, batch) => total + count(batch), 0);
  const completed = sum(({ completed_requests }) => completed_requests);
  const failed = sum(({ failed_requests }) => failed_requests);
  return { completed, failed, ended: completed + failed, total: sum(({ total_requests }) => total_requests) };
}
