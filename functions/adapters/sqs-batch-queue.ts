import { GetQueueAttributesCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { BatchQueue, QueuedRequest } from '#domain/ports/batch-queue.ts';

/** SQS's limit of one call. */
const messagesPerCall = 10;
/** A thousand requests are a hundred calls: so many at a time keep their sockets busy and no queue of them. */
const callsAtOnce = 10;

/** Messages carry only ids. Their group is the workspace, so that fair queues let no workspace starve another. */
export function sqsBatchQueue(client: SQSClient, url: string): BatchQueue {
  const sendTogether = async (requests: readonly QueuedRequest[], delay: number): Promise<void> => {
    const { Failed = [] } = await client.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: requests.map((request, index) => ({
          Id: String(index),
          MessageBody: JSON.stringify(request),
          MessageGroupId: request.workspaceId,
          ...(delay > 0 && { DelaySeconds: delay }),
        })),
      }),
    );
    const [failure] = Failed;
    if (failure !== undefined)
      throw new Error(`${Failed.length} messages were not taken by the queue: ${failure.Code}`);
  };

  return {
    async send(requests, delay = 0) {
      const calls: (readonly QueuedRequest[])[] = [];
      for (let first = 0; first < requests.length; first += messagesPerCall)
        calls.push(requests.slice(first, first + messagesPerCall));
      const sendNext = async (): Promise<void> => {
        for (let call = calls.shift(); call !== undefined; call = calls.shift())
          await sendTogether(call, delay);
      };
      await Promise.all(Array.from({ length: callsAtOnce }, sendNext));
    },

    async isEmpty() {
      const { Attributes = {} } = await client.send(
        new GetQueueAttributesCommand({
          QueueUrl: url,
          AttributeNames: [
            'ApproximateNumberOfMessages',
            'ApproximateNumberOfMessagesNotVisible',
            'ApproximateNumberOfMessagesDelayed',
          ],
        }),
      );
      return Object.values(Attributes).every((count) => count === '0');
    },
  };
}
