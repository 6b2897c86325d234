import { setTimeout as pause } from 'node:timers/promises';
import type { BatchResource } from '#contract/batch.ts';
import type { HttpClient } from './http-client.ts';

export const hasEnded = ({ status }: BatchResource): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

export async function readBatch(client: HttpClient, batchId: string): Promise<BatchResource> {
  return (await client.sendRequest<BatchResource>(`/batches/${encodeURIComponent(batchId)}`)).data;
}

/** Reads one batch after another: the rate limiter would reject a thousand concurrent requests. */
export async function readBatches(client: HttpClient, batchIds: readonly string[]): Promise<BatchResource[]> {
  const found: BatchResource[] = [];
  for (const id of batchIds) found.push(await readBatch(client, id));
  return found;
}

/** Short enough to show progress to a person, and far below the rate limit of a key (20 reads a second). */
const pauseSeconds = 1;

/** Polls the batches until all have ended. */
export async function watchBatches(
  client: HttpClient,
  batchIds: readonly string[],
  onChange: (batches: BatchResource[]) => void,
): Promise<BatchResource[]> {
  const batches = await readBatches(client, batchIds);
  onChange(batches);
  while (!batches.every(hasEnded)) {
    await pause(pauseSeconds * 1000);
    for (const [index, batch] of batches.entries())
      if (!hasEnded(batch)) {
        batches[index] = await readBatch(client, batch.id);
        onChange(batches);
      }
  }
  return batches;
}

export function countRequests(batches: readonly BatchResource[]) {
  const sum = (count: (batch: BatchResource) => number): number =>
    batches.reduce((total, batch) => total + count(batch), 0);
  const completed = sum(({ completed_requests }) => completed_requests);
  const failed = sum(({ failed_requests }) => failed_requests);
  return { completed, failed, ended: completed + failed, total: sum(({ total_requests }) => total_requests) };
}
