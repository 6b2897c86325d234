import { setTimeout as sleep } from 'node:timers/promises';
import { createInvokeBatch, type Deliveries, type InvokeOptions } from './invoke-batch.ts';
import { createMessageBuffer } from './message-buffer.ts';
import {
  type BufferedMessage,
  bufferedMessage,
  createQueueClient,
  type QueueClientOptions,
} from './queue-client.ts';
import type { EventSource } from './read-event-source.ts';

interface PollOptions extends QueueClientOptions, Omit<InvokeOptions, 'isStopped'> {
  readonly source: EventSource;
  readonly redeliverySeconds: number | undefined;
  readonly region: string;
  readonly deliverTwice: boolean;
}

// A failure that lasts is logged at each retry, so retries are not more frequent.
const RETRY_MILLISECONDS = 1000;

/** Returns a function that ends the polling. Deliveries in progress go on. */
export function pollQueue(options: PollOptions): () => void {
  const { source, visibilitySeconds, redeliverySeconds } = options;
  const { batchSize, concurrency } = source;
  let stopped = false;
  let running = 0;
  let batches = 0;
  const queue = createQueueClient(options);
  const buffer = createMessageBuffer(batchSize, visibilitySeconds);
  const invoke = createInvokeBatch({ ...options, isStopped: () => stopped });

  async function receive(): Promise<void> {
    while (!stopped) {
      if (buffer.isFull) await buffer.capacity;
      else await receiveOnce();
    }
  }

  async function receiveOnce(): Promise<void> {
    try {
      for (const message of await queue.receive())
        buffer.add(
          message.Attributes?.MessageGroupId ?? '',
          bufferedMessage(message, source.queueArn, options.region),
        );
    } catch (error) {
      report(error);
      if (!stopped) await sleep(RETRY_MILLISECONDS);
    }
    dispatch();
  }

  function dispatch(): void {
    while (!stopped && running < concurrency) {
      const batch = buffer.takeBatch();
      if (batch === undefined) break;
      void deliver(batch);
    }
    buffer.onTaken();
  }

  async function deliver(batch: readonly BufferedMessage[]): Promise<void> {
    running += 1;
    batches += 1;
    try {
      // Restarts the visibility timeout. If this call fails, the function is invoked all the same, because the messages
      // have been received.
      await queue.changeVisibility(batch, visibilitySeconds).catch(report);
      const failed = await invoke(batch, nextDeliveries());
      const done = batch.filter(({ messageId }) => !failed.has(messageId));
      const retried = batch.filter(({ messageId }) => failed.has(messageId));
      if (redeliverySeconds !== undefined) await queue.changeVisibility(retried, redeliverySeconds);
      await queue.delete(done);
    } catch (error) {
      report(error);
    }
    running -= 1;
    dispatch();
  }

  function nextDeliveries(): Deliveries {
    if (!options.deliverTwice) return 'once';
    return batches % 2 === 0 ? 'twice, concurrently' : 'twice, one after the other';
  }

  function report(error: unknown): void {
    if (!stopped) options.onFailure(`The event source failed: ${String(error)}`);
  }

  let isExtending = false;
  async function extend(): Promise<void> {
    if (isExtending) return;
    isExtending = true;
    await queue.changeVisibility(buffer.messages(), visibilitySeconds).catch(report);
    isExtending = false;
  }

  // Without it, SQS would redeliver messages that are still buffered.
  const extension = setInterval(extend, (visibilitySeconds * 1000) / 3);
  void receive();

  return () => {
    stopped = true;
    clearInterval(extension);
    buffer.stop();
  };
}
