import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Erasure, Purge } from '#domain/chats/purge.ts';
import { runErasure } from '#domain/erasure/erase-person.ts';
import { purgeChat } from '#domain/erasure/erasure.ts';
import { erasureServices, log, purgeQueue } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = { ...erasureServices(), purgeQueue: purgeQueue() };

/** Returns the ids of the failed messages, so that the queue delivers these again. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  // Purges run concurrently, so that those of other workspaces do not wait for a large one.
  await Promise.all(
    Records.map(async ({ messageId, body }) => {
      try {
        const deleted = JSON.parse(body) as Purge | Erasure;
        await ('chatId' in deleted ? purgeChat(services, deleted) : runErasure(services, deleted));
      } catch (error) {
        log.error('A purge failed', { error });
        batchItemFailures.push({ itemIdentifier: messageId });
      }
    }),
  );
  return { batchItemFailures };
});
