/** How the event of a batch's end comes to its receiver. There is one when the batch's webhook wants that event. */
export interface WebhookDelivery {
  workspaceId: string;
  batchId: string;
  /** What is sent: the same text at every attempt. */
  body: string;
  /** `gone`: the receiver wants no more; `exhausted`: no attempt of the schedule succeeded. */
  state: 'pending' | 'delivered' | 'gone' | 'exhausted';
  /** 1, and one more for each time that an operator asked for the event to be sent again. */
  round: number;
  /** Attempts begun in this round. */
  attempts: number;
  /** Attempts begun in all rounds. */
  allAttempts: number;
  /** The next attempt is not made before. */
  nextAt: string;
}

export interface DeliveryAttempt {
  /** Counts all attempts, from 1. */
  number: number;
  round: number;
  at: string;
  /** Milliseconds; null while it goes on, and for ever when what made it was killed. */
  duration: number | null;
  /** What the receiver answered. */
  status: number | null;
  /** Why there was no answer. */
  failure: string | null;
}

export type DeliveryOwner = Pick<WebhookDelivery, 'workspaceId' | 'batchId'>;

/** A batch ends once, so its event needs no other name. Receivers know by it what they have had before. */
export const eventIdOf = ({ batchId }: Pick<DeliveryOwner, 'batchId'>): string => `evt_${batchId}`;
