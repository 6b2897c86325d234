import { failBatch } from '#domain/batches/advance-batch.ts';
import { wantsWebhook } from '#domain/batches/batch.ts';
import { batches, chats, clock, meter, replyEvents, turns } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  batches: batches(),
  chats: chats(),
  clock,
  messages: turns(),
  meter,
  replyEvents: replyEvents(),
};

export const handler = observed(
  async (input: { workspaceId: string; batchId: string }): Promise<{ webhook: boolean }> => ({
    webhook: wantsWebhook(await failBatch(services, input)),
  }),
);
