import type { BatchResource } from '#contract/batch.ts';
import { ApiRejection, type HttpClient } from './http-client.ts';
import { readBatch } from './watch-batches.ts';

/**
 * Retries the request until there is a response. If a retry is rejected, an earlier attempt may have cancelled the
 * batch: then this function returns the cancelled batch.
 * @throws ApiRejection
 */
export async function cancelBatch(client: HttpClient, batchId: string): Promise<BatchResource> {
  let attempts = 0;
  try {
    return await client.withRetries(async () => {
      attempts += 1;
      const path = `/batches/${encodeURIComponent(batchId)}/cancel`;
      return (await client.once<BatchResource>(path, { method: 'POST' })).data;
    });
  } catch (error) {
    if (!(error instanceof ApiRejection) || attempts === 1) throw error;
    const batch = await readBatch(client, batchId);
    if (batch.status === 'cancelling' || batch.status === 'cancelled') return batch;
    throw error;
  }
}
