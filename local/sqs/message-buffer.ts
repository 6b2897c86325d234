import type { BufferedMessage } from './queue-client.ts';

// Enough to find messages of other groups after many messages of one group.
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

// The visibility of buffered messages is extended three times in each timeout, ten messages a call: at most about 30
// calls a second.
const BUFFERED_PER_SECOND_OF_VISIBILITY = 100;

// Lambda's limit for an event, minus 1 KiB for the JSON around the records.
const PAYLOAD_BYTES = 6 * 1024 * 1024 - 1024;

export function createMessageBuffer(batchSize: number, visibilitySeconds: number) {
  /** No group is empty. The groups take turns, so that a group with many messages hardly delays a group with few. */
  const groups = new Map<string, BufferedMessage[]>();
  let count = 0;
  let bytes = 0;
  let capacity = Promise.withResolvers<void>();

  function takeFirst(group: string, messages: BufferedMessage[]): void {
    messages.shift();
    groups.delete(group);
    if (messages.length > 0) groups.set(group, messages);
  }

  return {
    get isFull(): boolean {
      return bytes >= MAX_BUFFERED_BYTES || count >= visibilitySeconds * BUFFERED_PER_SECOND_OF_VISIBILITY;
    },
    /** Resolves at the next `onTaken` or `stop`. */
    get capacity(): Promise<void> {
      return capacity.promise;
    },
    add(groupId: string, message: BufferedMessage): void {
      const messages = groups.get(groupId);
      if (messages) messages.push(message);
      else groups.set(groupId, [message]);
      count += 1;
      bytes += message.bytes;
    },
    takeBatch(): readonly BufferedMessage[] | undefined {
      const batch: BufferedMessage[] = [];
      let batchBytes = 0;
      while (batch.length < batchSize) {
        const [[group, messages] = ['', []]] = groups;
        const [message] = messages;
        if (!message || (batch.length > 0 && batchBytes + message.bytes > PAYLOAD_BYTES)) break;
        takeFirst(group, messages);
        batch.push(message);
        batchBytes += message.bytes;
      }
      count -= batch.length;
      bytes -= batchBytes;
      return batch.length === 0 ? undefined : batch;
    },
    messages: (): readonly BufferedMessage[] => [...groups.values()].flat(),
    /** To be called after batches have been taken. */
    onTaken(): void {
      capacity.resolve();
      capacity = Promise.withResolvers();
    },
    stop: (): void => capacity.resolve(),
  };
}
