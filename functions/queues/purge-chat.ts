import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Erasure, Purge } from '#domain/chats/purge.ts';
import { purgeChat } from '#domain/chats/purge-chat.ts';
import { runErasure } from '#domain/erasure/erase-person.ts';
import {
  batches,
  chatData,
  chatDeletion,
  chatPages,
  clock,
  feedback,
  log,
  purgeOutbox,
  purgeQueue,
  requestEraser,
} from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const purge = purgeChat({ chatData: chatData(), clock, purgeOutbox: purgeOutbox() });
async function purgeAndLog(deleted: Purge): Promise<void> {
  const { workspaceId, chatId } = deleted;
  const { retainedFiles } = await purge(deleted);
  if (retainedFiles.length > 0)
    log.info('Files of a deleted chat were retained', { workspaceId, chatId, files: retainedFiles });
}

const erase = runErasure({
  batches: batches(),
  chatDeletion: chatDeletion(),
  chatPages: chatPages(),
  clock,
  feedback: feedback(),
  purgeOutbox: purgeOutbox(),
  purgeQueue: purgeQueue(),
  requestEraser: requestEraser(),
});

/** Deletes the data of deleted chats and persons, one after the other. The queue delivers failed ones again. */
export const handler = observed(async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  for (const { messageId, body } of Records)
    try {
      const deleted = JSON.parse(body) as Purge | Erasure;
      await ('chatId' in deleted ? purgeAndLog(deleted) : erase(deleted));
    } catch (error) {
      log.error('A purge failed', { error });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  return { batchItemFailures };
});
