import type { BatchResource } from '#contract/batch.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { HttpClient } from './http-client.ts';

/**
 * The newest batches of the workspace.
 * @param count the maximum number of batches
 * @returns also how many there are in all
 */
export async function listBatches(
  client: HttpClient,
  count: number,
  status: BatchStatus | undefined,
): Promise<{ batches: BatchResource[]; total: number }> {
  const batches: BatchResource[] = [];
  for (;;) {
    const query = new URLSearchParams({
      limit: String(Math.min(count - batches.length, limits.pageSizeMax)),
      offset: String(batches.length),
      ...(status !== undefined && { status }),
    });
    const { data, pagination } = await client.sendRequest<BatchResource[]>(`/batches?${query}`);
    batches.push(...data);
    const isLast = !pagination?.next_page || data.length === 0;
    if (isLast || batches.length >= count)
      return { batches, total: pagination?.total_records ?? batches.length };
  }
}
