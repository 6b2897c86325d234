import type { BatchQueue, SlotMessage } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/services.ts';

/** Delivers each message once. */
export function memoryQueue(clock: Clock) {
  /** `visibleAt`: milliseconds since the epoch, the end of its delay. */
  const messages: { body: SlotMessage; visibleAt: number }[] = [];
  const visible = () => messages.filter(({ visibleAt }) => visibleAt <= clock.now().getTime());
  return {
    messages,
    async send(bodies: readonly SlotMessage[], delay = 0) {
      if (delay < 0 || delay > 900 || !Number.isInteger(delay)) throw new Error(`A delay is ${delay} s`);
      const visibleAt = clock.now().getTime() + delay * 1000;
      for (const body of bodies) messages.push({ body: structuredClone(body), visibleAt });
    },
    isFilled: async () => visible().length > 0,
    /** Delivers the messages that are visible now, at most `atOnce` concurrently. @returns their number */
    async deliver(process: (message: SlotMessage) => Promise<void>, atOnce: number) {
      const delivered = visible().slice(0, atOnce);
      for (const message of delivered) messages.splice(messages.indexOf(message), 1);
      await Promise.all(delivered.map(({ body }) => process(body)));
      return delivered.length;
    },
    /** When the next message becomes visible. */
    nextTime: () => Math.min(...messages.map(({ visibleAt }) => visibleAt)),
  } satisfies BatchQueue & Record<string, unknown>;
}
