import type { Clock } from './clock.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { Identifiers } from './identifiers.ts';
import type { Log } from './log.ts';
import type { Meter } from './meter.ts';

export interface PlatformServices {
  clock: Clock;
  /** Returns a number from 0 to 1. */
  random: () => number;
  identifiers: Identifiers;
  log: Log;
  meter: Meter;
  idempotency: IdempotencyStore;
}
