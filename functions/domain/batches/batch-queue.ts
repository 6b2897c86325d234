/** Offers a slot of a batch to a worker. A message with an old epoch is a duplicate. */
export interface SlotMessage {
  workspaceId: string;
  batchId: string;
  slot: number;
  epoch: number;
}

export interface BatchQueue {
  /** @param delay seconds, at most 900 */
  send(messages: readonly SlotMessage[], delay?: number): Promise<void>;
  /** Whether messages wait for a worker. */
  isFilled(): Promise<boolean>;
}
