import { advanceBatch } from '#domain/advance-batch.ts';
import { wantsWebhook } from '#domain/batch.ts';
import { observed } from '#runtime/observed.ts';
import { batches, chats, clock, meter, turns } from '#runtime/services.ts';

const advance = advanceBatch({
  batches: batches(),
  chats: chats(),
  clock,
  messages: turns(),
  meter,
});

/** Looks what has become of a batch, and says how the workflow goes on. */
export const handler = observed(
  async (input: { workspaceId: string; batchId: string }): Promise<{ stage: string; webhook: boolean }> => {
    const { stage, batch } = await advance(input);
    return { stage, webhook: wantsWebhook(batch) };
  },
);
