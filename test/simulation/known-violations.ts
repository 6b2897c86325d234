import type { Invariant } from './checks.ts';

interface Known {
  cause: string;
  /** Seeds that show it. */
  seeds: readonly number[];
  /** More than this share of the worlds is something else. */
  share: number;
}

/**
 * What today's code violates. A world that finds one of these does not fail, unless a run of many worlds finds it too
 * often.
 */
export const knownViolations: Partial<Record<Invariant, Known>> = {
  'a stored turn is counted': {
    cause: 'Not found yet: an attempt that failed releases the chat behind a turn that was stored meanwhile.',
    seeds: [300_699, 303_802, 305_867, 309_814, 316_582],
    share: 0.001,
  },
  'slots are within the share': {
    cause: 'Not found yet.',
    seeds: [309_715, 316_036],
    share: 0.001,
  },
  'an erased person has no entries': {
    cause: 'Not found yet.',
    seeds: [309_122],
    share: 0.001,
  },
};
