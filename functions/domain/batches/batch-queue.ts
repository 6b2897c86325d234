/** Requests of a batch that one call of a worker does together: all that a message of the queue says. */
export interface QueuedRequests {
  workspaceId: string;
  batchId: string;
  /** Ten at most. */
  positions: number[];
  /** Whether it fills one of the places that the batch has: who is done with it gives the place to other requests. */
  holdsPlace: boolean;
}

/** `drained`: no message waits to be delivered, though workers may hold messages, or have died with them; `empty`: nor that. */
export type QueueDepth = 'filled' | 'drained' | 'empty';

export interface BatchQueue {
  /** @param delay seconds, at most 900 */
  send(messages: readonly QueuedRequests[], delay?: number): Promise<void>;
  level(): Promise<QueueDepth>;
}
