import type { BatchResource } from '#contract/batch.ts';
import { ApiRejection, type HttpClient } from './http-client.ts';
import { readBatch } from './watch-batches.ts';

/** Asks until it is answered; only then, a batch that no longer runs may be the work of an earlier try. */
export async function cancelBatch(client: HttpClient, batchId: string): Promise<BatchResource> {
  let attempts = 0;
  try {
    return await client.persist(async () => {
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
