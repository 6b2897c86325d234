import type { Clock } from '#domain/platform/services.ts';

export interface ManualClock extends Clock {
  /** Moves the time, and makes the calls that become due, in the order of their times. */
  advance(milliseconds: number): Promise<void>;
}

/** A clock that only the test moves. */
export function manualClock(start = '2027-01-31T12:00:00.000Z'): ManualClock {
  let now = Date.parse(start);
  const calls = new Map<symbol, { at: number; every: number | null; call: () => void }>();
  const schedule = (milliseconds: number, every: number | null, call: () => void) => {
    const id = Symbol();
    calls.set(id, { at: now + milliseconds, every, call });
    return () => void calls.delete(id);
  };
  return {
    now: () => new Date(now),
    after: (milliseconds, call) => schedule(milliseconds, null, call),
    every: (milliseconds, call) => schedule(milliseconds, milliseconds, call),
    async advance(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        const [next] = [...calls]
          .filter(([, { at }]) => at <= end)
          .sort(([, one], [, other]) => one.at - other.at);
        if (next === undefined) break;
        const [id, { at, every, call }] = next;
        now = Math.max(now, at);
        if (every === null) calls.delete(id);
        else calls.set(id, { at: at + every, every, call });
        call();
        // What the call has started may schedule further calls.
        await new Promise(setImmediate);
      }
      now = end;
      await new Promise(setImmediate);
    },
  };
}

/** Whether the end of some work is reached so far, also by an error. */
export function watchEnd(work: Promise<unknown>): { readonly isReached: boolean } {
  const end = { isReached: false };
  const reach = () => void Object.assign(end, { isReached: true });
  work.then(reach, reach);
  return end;
}
