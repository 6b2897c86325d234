import {
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { BatchQueue } from '#domain/batches/batch-queue.ts';

/** SQS's limit for one call. */
const messagesPerCall = 10;

/**
 * Sends messages as JSON. The message group is the workspace, so that fair queues let no workspace starve another.
 * @param delay in seconds
 */
export async function sendMessages(
  client: SQSClient,
  QueueUrl: string,
  messages: readonly { workspaceId: string }[],
  delay = 0,
): Promise<void> {
  for (let first = 0; first < messages.length; first += messagesPerCall) {
    const Entries = messages.slice(first, first + messagesPerCall).map(
      (message, index): SendMessageBatchRequestEntry => ({
        Id: String(index),
        MessageBody: JSON.stringify(message),
        MessageGroupId: message.workspaceId,
        ...(delay > 0 && { DelaySeconds: delay }),
      }),
    );
    const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    const [failure] = Failed;
    if (failure !== undefined)
      throw new Error(`The queue rejected ${Failed.length} messages: ${failure.Code}`);
  }
}

/** Messages contain only ids. A batch has few slots, so most sends are one call. */
export const sqsBatchQueue = (client: SQSClient, QueueUrl: string): BatchQueue => ({
  send: (messages, delay) => sendMessages(client, QueueUrl, messages, delay),
  async isFilled() {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
    );
    return Attributes.ApproximateNumberOfMessages !== '0';
  },
});
