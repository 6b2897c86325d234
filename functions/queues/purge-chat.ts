import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Purge } from '#domain/chats/purge.ts';
import { purgeChat } from '#domain/chats/purge-chat.ts';
import { chatData, clock, log, purgeOutbox } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const purge = purgeChat({ chatData: chatData(), clock, purgeOutbox: purgeOutbox() });

/** Deletes the data of deleted chats, one after the other. The queue delivers failed ones again. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  for (const { messageId, body } of Records)
    try {
      await purge(JSON.parse(body) as Purge);
    } catch (error) {
      log.error('A chat was not purged', { error });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  return { batchItemFailures };
});
