import { failBatch } from '#domain/advance-batch.ts';
import { wantsWebhook } from '#domain/batch.ts';
import { observed } from '#runtime/observed.ts';
import { batches, chats, clock, meter, turns } from '#runtime/services.ts';

const fail = failBatch({
  batches: batches(),
  chats: chats(),
  clock,
  messages: turns(),
  meter,
});

/** Ends a batch that its workflow could not carry through. */
export const handler = observed(
  async (input: { workspaceId: string; batchId: string }): Promise<{ webhook: boolean }> => ({
    webhook: wantsWebhook(await fail(input)),
  }),
);
