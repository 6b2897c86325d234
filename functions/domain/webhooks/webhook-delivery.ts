/** The delivery of a batch's final event. It exists only if the batch's webhook subscribes to that event. */
export interface WebhookDelivery {
  workspaceId: string;
  batchId: string;
  /** The body that every attempt sends, unchanged. */
  body: string;
  /** `gone`: the receiver responded with 410. `exhausted`: no attempt of the schedule succeeded. */
  state: 'pending' | 'delivered' | 'gone' | 'exhausted';
  /** Starts at 1. Each resend by an operator adds 1. */
  round: number;
  /** Attempts started in this round. */
  attempts: number;
  /** Attempts started in all rounds. */
  allAttempts: number;
  /** Earliest time of the next attempt. */
  nextAt: string;
}

export interface DeliveryAttempt {
  /** Counted from 1 over all rounds. */
  number: number;
  round: number;
  at: string;
  /** Milliseconds. Null while the attempt runs; stays null if the function was killed. */
  duration: number | null;
  /** The receiver's status code; null without a response. */
  status: number | null;
  /** Why there was no response; null with a response. */
  failure: string | null;
}

export type DeliveryOwner = Pick<WebhookDelivery, 'workspaceId' | 'batchId'>;

/** Unique, because a batch ends once. Receivers recognize a repeated event by this id. */
export const eventIdOf = ({ batchId }: Pick<DeliveryOwner, 'batchId'>): string => `evt_${batchId}`;
