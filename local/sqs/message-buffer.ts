export interface BufferedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly json: string;
  readonly bytes: number;
}

// Enough to find messages of other groups after many messages of one group.
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

// The visibility of buffered messages is extended three times in each timeout, ten messages a call: at most about 30
// calls a second.
const BUFFERED_PER_SECOND_OF_VISIBILITY = 100;

// Lambda's limit for an event, minus 1 KiB for the JSON around the records.
const PAYLOAD_BYTES = 6 * 1024 * 1024 - 1024;

export function createMessageBuffer(batchSize: number, visibilitySeconds: number) {
  const backlog = createFairBacklog<BufferedMessage>();
  let bytes = 0;
  let capacity = Promise.withResolvers<void>();
  return {
    get isFull(): boolean {
      return (
        bytes >= MAX_BUFFERED_BYTES || backlog.size >= visibilitySeconds * BUFFERED_PER_SECOND_OF_VISIBILITY
      );
    },
    /** Resolves at the next `onTaken` or `stop`. */
    get capacity(): Promise<void> {
      return capacity.promise;
    },
    add(groupId: string, message: BufferedMessage): void {
      backlog.add(groupId, message);
      bytes += message.bytes;
    },
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
    /** To be called after batches have been taken. */
    onTaken(): void {
      capacity.resolve();
      capacity = Promise.withResolvers();
    },
    stop: (): void => capacity.resolve(),
  };
}

/** The groups take turns, so that a group with many items hardly delays a group with few. */
function createFairBacklog<Item>() {
  const groups = new Map<string, Item[]>();
  let size = 0;

  function next(): [group: string, items: Item[], item: Item] | undefined {
    for (const [group, items] of groups) if (items[0] !== undefined) return [group, items, items[0]];
    return undefined;
  }

  return {
    get size(): number {
      return size;
    },
    add(group: string, item: Item): void {
      const items = groups.get(group);
      if (items) items.push(item);
      else groups.set(group, [item]);
      size += 1;
    },
    take(count: number, fits: (item: Item) => boolean): Item[] {
      const taken: Item[] = [];
      for (let turn = next(); turn && taken.length < count && fits(turn[2]); turn = next()) {
        const [group, items, item] = turn;
        items.shift();
        groups.delete(group);
        if (items.length > 0) groups.set(group, items);
        size -= 1;
        taken.push(item);
      }
      return taken;
    },
    items: (): Item[] => [...groups.values()].flat(),
  };
}
