/** Names a request of a batch: all that a message of the queue says. */
export interface QueuedRequest {
  workspaceId: string;
  batchId: string;
  position: number;
}

export interface BatchQueue {
  /** @param delay seconds, at most 900 */
  send(requests: readonly QueuedRequest[], delay?: number): Promise<void>;
  isEmpty(): Promise<boolean>;
}
