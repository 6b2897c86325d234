import type { BatchQueue, SlotMessage } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/services.ts';

export interface QueuedMessage {
  body: SlotMessage;
  /** Milliseconds since the epoch: the end of its delay. */
  visibleAt: number;
}

export interface Workers {
  process(message: SlotMessage): Promise<void>;
}

export interface MemoryQueue extends BatchQueue {
  messages: QueuedMessage[];
  /** Delivers the messages that are visible now, at most `atOnce` concurrently. @returns their number */
  deliver(workers: Workers, atOnce: number): Promise<number>;
  /** When the next message becomes visible. */
  nextTime(): number;
}

/** Delivers each message once. */
export function memoryQueue(clock: Clock): MemoryQueue {
  const messages: QueuedMessage[] = [];
  const visible = () => messages.filter(({ visibleAt }) => visibleAt <= clock.now().getTime());
  return {
    messages,
    async send(bodies, delay = 0) {
      if (delay < 0 || delay > 900 || !Number.isInteger(delay)) throw new Error(`A delay is ${delay} s`);
      const visibleAt = clock.now().getTime() + delay * 1000;
      for (const body of bodies) messages.push({ body: structuredClone(body), visibleAt });
    },
    isFilled: async () => visible().length > 0,
    async deliver(workers, atOnce) {
      const delivered = visible().slice(0, atOnce);
      for (const message of delivered) messages.splice(messages.indexOf(message), 1);
      await Promise.all(delivered.map(({ body }) => workers.process(body)));
      return delivered.length;
    },
    nextTime: () => Math.min(...messages.map(({ visibleAt }) => visibleAt)),
  };
}
