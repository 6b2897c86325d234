import type { Clock } from '#domain/platform/clock.ts';
import { invocationContext } from './invocation-context.ts';

export const clock: Clock = {
  now: () => new Date(),
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
  every: (milliseconds, call) => {
    const timer = setInterval(call, milliseconds);
    return () => clearInterval(timer);
  },
};

/** For work of the process: its delayed calls run outside of the request that has set them. */
export const processClock: Clock = {
  ...clock,
  after: (milliseconds, call) => invocationContext().exit(() => clock.after(milliseconds, call)),
  every: (milliseconds, call) => invocationContext().exit(() => clock.every(milliseconds, call)),
};
