/** A message of the queue: requests of a batch that one call of a worker processes together. */
export interface QueuedRequests {
  workspaceId: string;
  batchId: string;
  /** Ten at most. */
  positions: number[];
  /** Whether the message uses an in-flight message slot of the batch, which its worker then gives to other requests. */
  holdsPlace: boolean;
}

/**
 * `drained`: no message waits for delivery, but some are delayed, with workers, or hidden after a worker died; `empty`:
 * no message.
 */
export type QueueDepth = 'filled' | 'drained' | 'empty';

export interface BatchQueue {
  /** @param delay seconds, at most 900 */
  send(messages: readonly QueuedRequests[], delay?: number): Promise<void>;
  depth(): Promise<QueueDepth>;
}
