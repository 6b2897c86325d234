import { advanceBatch } from '#domain/batches/advance-batch.ts';
import { wantsWebhook } from '#domain/batches/batch.ts';
import { chats, log, meter, queueServices, replyEvents, turns } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  ...queueServices(),
  chats: chats(),
  log,
  messages: turns(),
  meter,
  replyEvents: replyEvents(),
};

export const handler = observed(
  async (input: { workspaceId: string; batchId: string }): Promise<{ stage: string; webhook: boolean }> => {
    const { stage, batch } = await advanceBatch(services, input);
    return { stage, webhook: wantsWebhook(batch) };
  },
);
