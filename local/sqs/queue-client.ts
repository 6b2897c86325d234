import { operatorCredentials } from '../iam/operator-credentials.ts';
import type { Credentials } from '../iam/signature.ts';
import { callAwsJson } from '../wire/call-aws-json.ts';

export interface QueueClientOptions {
  readonly credentials: Credentials;
  readonly endpoint: string;
  readonly queueUrl: string;
}

// SQS's limit of messages in one call.
const MAX_ENTRIES = 10;

// SQS's maximum for a long poll.
const WAIT_SECONDS = 20;

export function createQueueClient({ credentials, endpoint, queueUrl }: QueueClientOptions) {
  const call = <Output>(operation: string, input: object, caller = credentials) =>
    callAwsJson<Output>(endpoint, `AmazonSQS.${operation}`, { QueueUrl: queueUrl, ...input }, caller);

  return {
    async receive(): Promise<readonly ReceivedMessage[]> {
      const { Messages = [] } = await call<{ Messages?: ReceivedMessage[] }>('ReceiveMessage', {
        MaxNumberOfMessages: MAX_ENTRIES,
        WaitTimeSeconds: WAIT_SECONDS,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      });
      return Messages;
    },
    changeVisibility: (messages: readonly BufferedMessage[], VisibilityTimeout: number) =>
      inChunks(messages, (entries) =>
        // The function's role needs no permission for this, so the operator calls.
        call(
          'ChangeMessageVisibilityBatch',
          { Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout })) },
          operatorCredentials,
        ),
      ),
    delete: (messages: readonly BufferedMessage[]) =>
      inChunks(messages, (Entries) => call('DeleteMessageBatch', { Entries })),
  };
}

async function inChunks(
  items: readonly BufferedMessage[],
  send: (entries: { Id: string; ReceiptHandle: string }[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += MAX_ENTRIES) {
    const chunk = items.slice(start, start + MAX_ENTRIES);
    await send(
      chunk.map(({ receiptHandle: ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle })),
    );
  }
}

interface ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly MD5OfBody: string;
  readonly Attributes?: Readonly<Record<string, string>>;
}

export type BufferedMessage = ReturnType<typeof bufferedMessage>;

export function bufferedMessage(message: ReceivedMessage, eventSourceARN: string, awsRegion: string) {
  const { MessageId: messageId, ReceiptHandle: receiptHandle } = message;
  const json = JSON.stringify({
    messageId,
    receiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: {},
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN,
    awsRegion,
  });
  return { messageId, receiptHandle, json, bytes: Buffer.byteLength(json) + 1 };
}
