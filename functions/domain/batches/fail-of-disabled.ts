import type { PlatformServices } from '#domain/platform/services.ts';
import type { Batch } from './batch.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import type { BatchServices } from './services.ts';

/** Stops a batch whose workspace is disabled. Requests in work end normally. */
export async function failOfDisabled(
  services: Pick<BatchServices, 'batches' | 'batchWorkflow'> & Pick<PlatformServices, 'clock'>,
  batch: Batch,
): Promise<void> {
  await services.batches.markFailed(batch, services.clock.now().toISOString());
  await completeTaskCallback(services)(batch);
}
