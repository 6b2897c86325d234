import { type Batch, mayHaveEnded } from './batch.ts';
import type { Outcomes } from './batch-transitions.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import type { Retry } from './end-request.ts';
import { groupMessages, messagesFor } from './send-requests.ts';
import type { BatchServices } from './services.ts';
import { type TakeServices, takeGroups } from './take-groups.ts';

export type PassSlotServices = TakeServices & Pick<BatchServices, 'batchWorkflow'>;

/** What a worker leaves to other workers. */
export interface WorkLeft extends Pick<Outcomes, 'completed' | 'failed'> {
  /** Whether the worker gives its slot on. A worker without one, or whose message is delivered again, does not. */
  givesSlot: boolean;
  /** Requests that may start now. */
  ready: readonly number[];
  /** Requests whose retries have no message yet. */
  retries: readonly Retry[];
}

/**
 * Enqueues what a worker leaves, records outcomes, and gives its slot to one message: of the requests that may start
 * now, of a retry, or of the next request group. Completes the task callback if the batch may have ended.
 */
export const passSlotOn =
  (services: PassSlotServices) =>
  async (batch: Batch, { givesSlot, ready, retries, completed, failed }: WorkLeft): Promise<void> => {
    const messages = messagesFor(batch, ready, { holdsPlace: false });
    const [first, ...others] = messages;
    if (first !== undefined) await services.batchQueue.send([{ ...first, holdsPlace: givesSlot }, ...others]);
    let hasSlot = givesSlot && first === undefined;
    if (await sendRetries(services, batch, retries, hasSlot)) hasSlot = false;
    if (hasSlot) {
      const taken = await takeGroups(services, batch, { completed, failed }, 1);
      if (taken !== undefined) {
        const { groupsSent } = taken.batch;
        await services.batchQueue.send(groupMessages(taken.batch, groupsSent - 1, groupsSent));
        return;
      }
    }
    await recordOutcomes(services)(batch, { completed, failed, slots: hasSlot ? -1 : 0 });
  };

/** Records outcomes, and completes the task callback if the batch may have ended. */
export const recordOutcomes =
  (services: PassSlotServices) =>
  async (batch: Batch, outcomes: Outcomes): Promise<void> => {
    if (outcomes.completed + outcomes.failed === 0 && outcomes.slots === 0) return;
    const counted = await services.batches.recordOutcomes(batch, outcomes);
    // If no message has a slot, either the batch has ended, or a crash has left work: the workflow then finds it.
    if (counted !== undefined && (mayHaveEnded(counted) || counted.slots <= 0))
      await completeTaskCallback(services)(counted);
  };

/**
 * Requests with the same wait share a message, which is delivered when the last of them is due.
 * @returns whether a message has taken the slot
 */
export async function sendRetries(
  services: Pick<TakeServices, 'batchQueue' | 'clock'>,
  batch: Batch,
  retries: readonly Retry[],
  givesSlot: boolean,
): Promise<boolean> {
  let hasSlot = givesSlot;
  for (const [wait, together] of Map.groupBy(retries, (each) => each.wait)) {
    const due = Math.max(...together.map((each) => each.due));
    const seconds = Math.ceil((due - services.clock.now().getTime()) / 1000);
    const requestIndexes = together.map(({ request }) => request.requestIndex);
    const messages = messagesFor(batch, requestIndexes, { holdsPlace: false });
    const takesSlot = hasSlot && together.some(({ narrows }) => narrows);
    await services.batchQueue.send(
      messages.map((message, index) => ({ ...message, holdsPlace: takesSlot && index === 0 })),
      Math.min(Math.max(seconds, 0), wait),
    );
    if (takesSlot) hasSlot = false;
  }
  return givesSlot && !hasSlot;
}
