import { GetQueueAttributesCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { BatchQueue, SlotMessage } from '#domain/batches/batch-queue.ts';

/** SQS's limit for one call. */
const messagesPerCall = 10;

/**
 * Messages contain only ids. The message group is the workspace, so that fair queues let no workspace starve another.
 */
export function sqsBatchQueue(client: SQSClient, url: string): BatchQueue {
  const sendBatch = async (messages: readonly SlotMessage[], delay: number): Promise<void> => {
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
    // A batch has few slots, so most sends are one call.
    async send(messages, delay = 0) {
      for (let first = 0; first < messages.length; first += messagesPerCall)
        await sendBatch(messages.slice(first, first + messagesPerCall), delay);
    },

    async isFilled() {
      const AttributeNames = ['ApproximateNumberOfMessages'] as const;
      const { Attributes = {} } = await client.send(
        new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [...AttributeNames] }),
      );
      return Attributes.ApproximateNumberOfMessages !== '0';
    },
  };
}
