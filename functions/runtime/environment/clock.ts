import type { Clock } from '#domain/platform/clock.ts';

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
