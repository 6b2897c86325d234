import { createFairBacklog } from './fair-backlog.ts';

export interface BufferedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  /** The message's entry in the event's `Records`. */
  readonly json: string;
  readonly bytes: number;
}

interface BufferOptions {
  readonly batchSize: number;
  readonly visibilitySeconds: number;
}

// Enough to find other groups after a long one: about ten thousand messages that contain little more than ids.
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

// The poller extends the visibility of buffered messages three times in each visibility timeout, ten messages a call.
// So 100 messages a second of the timeout are at most 30 calls a second.
const BUFFERED_PER_SECOND_OF_VISIBILITY = 100;

// Lambda's limit for an event, minus 1 KiB for the JSON around the records.
const PAYLOAD_BYTES = 6 * 1024 * 1024 - 1024;

/** The received messages that no invocation has taken yet. Collects them into batches, as Lambda does. */
export function createMessageBuffer(options: BufferOptions) {
  const { batchSize, visibilitySeconds } = options;
  const backlog = createFairBacklog<BufferedMessage>();
  let bytes = 0;
  let capacity = Promise.withResolvers<void>();
  return {
    get isFull(): boolean {
      return (
        bytes >= MAX_BUFFERED_BYTES || backlog.size >= visibilitySeconds * BUFFERED_PER_SECOND_OF_VISIBILITY
      );
    },
    /** Resolves when the buffer may have space again. */
    get capacity(): Promise<void> {
      return capacity.promise;
    },
    add(groupId: string, message: BufferedMessage): void {
      backlog.add(groupId, message);
      bytes += message.bytes;
    },
    /** Undefined if there is no message. */
    takeBatch(): readonly BufferedMessage[] | undefined {
      if (backlog.size === 0) return undefined;
      let batchBytes = 0;
      const batch = backlog.take(batchSize, (message) => {
        batchBytes += message.bytes;
        return batchBytes === message.bytes || batchBytes <= PAYLOAD_BYTES;
      });
      for (const message of batch) bytes -= message.bytes;
      return batch;
    },
    messages: (): readonly BufferedMessage[] => backlog.items(),
    /** Resolves `capacity`. */
    onTaken(): void {
      capacity.resolve();
      capacity = Promise.withResolvers();
    },
    stop(): void {
      capacity.resolve();
    },
  };
}
