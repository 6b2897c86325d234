import { GetQueueAttributesCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { BatchQueue, QueueDepth, QueuedRequests } from '#domain/batches/batch-queue.ts';

/** SQS's limit for one call. */
const messagesPerCall = 10;
/** After a crash, 1,000 requests may need 100 calls: this many concurrent calls keep their sockets busy. */
const callsAtOnce = 10;

/**
 * Messages contain only ids. The message group is the workspace, so that fair queues let no workspace starve another.
 */
export function sqsBatchQueue(client: SQSClient, url: string): BatchQueue {
  const sendBatch = async (messages: readonly QueuedRequests[], delay: number): Promise<void> => {
    const { Failed = [] } = await client.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: messages.map((message, index) => ({
          Id: String(index),
          MessageBody: JSON.stringify(message),
          MessageGroupId: message.workspaceId,
          ...(delay > 0 && { DelaySeconds: delay }),
        })),
      }),
    );
    const [failure] = Failed;
    if (failure !== undefined)
      throw new Error(`The queue rejected ${Failed.length} messages: ${failure.Code}`);
  };

  return {
    async send(messages, delay = 0) {
      const calls: (readonly QueuedRequests[])[] = [];
      for (let first = 0; first < messages.length; first += messagesPerCall)
        calls.push(messages.slice(first, first + messagesPerCall));
      const sendNext = async (): Promise<void> => {
        for (let call = calls.shift(); call !== undefined; call = calls.shift()) await sendBatch(call, delay);
      };
      await Promise.all(Array.from({ length: callsAtOnce }, sendNext));
    },

    async depth(): Promise<QueueDepth> {
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
      if (Attributes.ApproximateNumberOfMessages !== '0') return 'filled';
      return Object.values(Attributes).every((count) => count === '0') ? 'empty' : 'drained';
    },
  };
}
