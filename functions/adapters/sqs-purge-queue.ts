import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { PurgeQueue } from '#domain/chats/purge.ts';

/** SQS's limit for one call. */
const messagesPerCall = 10;

/** The message group is the workspace, so that fair queues let no workspace starve another. */
export const sqsPurgeQueue = (client: SQSClient, url: string): PurgeQueue => ({
  async send(purges) {
    for (let first = 0; first < purges.length; first += messagesPerCall) {
      const { Failed = [] } = await client.send(
        new SendMessageBatchCommand({
          QueueUrl: url,
          Entries: purges.slice(first, first + messagesPerCall).map((purge, index) => ({
            Id: String(index),
            MessageBody: JSON.stringify(purge),
            MessageGroupId: purge.workspaceId,
          })),
        }),
      );
      const [failure] = Failed;
      if (failure !== undefined)
        throw new Error(`The queue rejected ${Failed.length} purges: ${failure.Code}`);
    }
  },
});
