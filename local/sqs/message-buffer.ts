import { createFairBacklog } from './fair-backlog.ts';

export interface BufferedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  /** The message's entry in the event's `Records`. */
  readonly json: string;
  readonly bytes: number;
}

export interface MessageBuffer {
  readonly isFull: boolean;
  /** Resolves when the buffer may have space again. */
  readonly capacity: Promise<void>;
  add(groupId: string, message: BufferedMessage): void;
  /** Undefined if there is no message. */
  takeBatch(): readonly BufferedMessage[] | undefined;
  messages(): readonly BufferedMessage[];
  /** Resolves `capacity`. */
  onTaken(): void;
  stop(): void;
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
export function createMessageBuffer(options: BufferOptions): MessageBuffer {
  const { batchSize, visibilitySeconds } = options;
  const backlog = createFairBacklog<BufferedMessage>();
  let bytes = 0;
  let capacity = Promise.withResolvers<void>();
  return {
    get isFull() {
      return (
        bytes >= MAX_BUFFERED_BYTES || backlog.size >= visibilitySeconds * BUFFERED_PER_SECOND_OF_VISIBILITY
      );
    },
    get capacity() {
      return capacity.promise;
    },
    add(groupId, message) {
      backlog.add(groupId, message);
      bytes += message.bytes;
    },
    takeBatch() {
      if (backlog.size === 0) return undefined;
      let batchBytes = 0;
      const batch = backlog.take(batchSize, (message) => {
        batchBytes += message.bytes;
        return batchBytes === message.bytes || batchBytes <= PAYLOAD_BYTES;
      });
      for (const message of batch) bytes -= message.bytes;
      return batch;
    },
    messages: () => backlog.items(),
    onTaken() {
      capacity.resolve();
      capacity = Promise.withResolvers();
    },
    stop() {
      capacity.resolve();
    },
  };
}
