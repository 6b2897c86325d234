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

/** For work of the process: its repeated calls run outside of the request that has set them. */
export const processClock: Clock = {
  ...clock,
  every: (milliseconds, call) => invocationContext().exit(() => clock.every(milliseconds, call)),
};
