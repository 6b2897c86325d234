import { failBatch } from '#domain/advance-batch.ts';
import { wantsWebhook } from '#domain/batch.ts';
import { batches, clock } from '#runtime/services.ts';

const fail = failBatch({ batches: batches(), clock });

/** Ends a batch that its workflow could not carry through. */
export const handler = async (input: {
  workspaceId: string;
  batchId: string;
}): Promise<{ webhook: boolean }> => ({ webhook: wantsWebhook(await fail(input)) });
