import type { BatchQueue, QueuedRequests } from '#domain/batches/batch-queue.ts';
import type { Clock } from '#domain/platform/clock.ts';

/** As in lib/batch-workflow.ts. */
const visibilityMilliseconds = 6 * 900 * 1000;
const maxDeliveries = 10;

export interface QueuedMessage {
  body: QueuedRequests;
  /** Milliseconds since the epoch: the end of its delay, or of its visibility timeout. */
  visibleAt: number;
  deliveries: number;
}

export interface Workers {
  /** @returns false if the message must be delivered again */
  process(message: QueuedRequests, isRedelivered: boolean): Promise<boolean>;
  failDeadLetter(message: QueuedRequests): Promise<boolean>;
}

export interface MemoryQueue extends BatchQueue {
  messages: QueuedMessage[];
  /** Delivers the messages that are visible now, at most `atOnce` concurrently. @returns their number */
  deliver(workers: Workers, atOnce: number): Promise<number>;
  /** When the next message becomes visible. */
  nextTime(): number;
}

/** Delivers messages as SQS does: a message without success is delivered again after its visibility timeout. */
export function memoryQueue(clock: Clock): MemoryQueue {
  const messages: QueuedMessage[] = [];
  const visible = () => messages.filter(({ visibleAt }) => visibleAt <= clock.now().getTime());

  const deliverOne = async (message: QueuedMessage, workers: Workers): Promise<void> => {
    message.deliveries += 1;
    message.visibleAt = clock.now().getTime() + visibilityMilliseconds;
    const body = structuredClone(message.body);
    const isDone =
      message.deliveries > maxDeliveries
        ? await workers.failDeadLetter(body)
        : await workers.process(body, message.deliveries > 1);
    if (isDone && messages.includes(message)) messages.splice(messages.indexOf(message), 1);
  };

  return {
    messages,
    async send(bodies, delay = 0) {
      const visibleAt = clock.now().getTime() + delay * 1000;
      for (const body of bodies) {
        if (body.positions.length === 0 || body.positions.length > 10)
          throw new Error(`A message has ${body.positions.length} requests`);
        if (delay < 0 || delay > 900 || !Number.isInteger(delay)) throw new Error(`A delay is ${delay} s`);
        messages.push({ body: structuredClone(body), visibleAt, deliveries: 0 });
      }
    },
    async depth() {
      if (visible().length > 0) return 'filled';
      return messages.length === 0 ? 'empty' : 'drained';
    },
    async deliver(workers, atOnce) {
      const delivered = visible().slice(0, atOnce);
      await Promise.all(delivered.map((message) => deliverOne(message, workers)));
      return delivered.length;
    },
    nextTime: () => Math.min(...messages.map(({ visibleAt }) => visibleAt)),
  };
}
