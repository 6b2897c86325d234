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
export const knownViolations: Partial<Record<Invariant, Known>> = {};
