/** A message of the queue: the first requests of a batch that a worker processes. */
export interface QueuedRequests {
  workspaceId: string;
  batchId: string;
  /** Ten at most. */
  positions: number[];
  /** Whether the message holds an in-flight message slot of the batch: then its worker takes further requests. */
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
