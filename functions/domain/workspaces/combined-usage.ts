import type { Clock } from '#domain/platform/clock.ts';
import { sumOf } from '#domain/platform/model-usage.ts';
import { noCounts, type Use } from './usage.ts';
import type { UsageStore } from './usage-store.ts';

/** Milliseconds for which uses are collected. A process that must end has about a second (`serve-routes.ts`). */
const collectedFor = 500;

/** So many uses are written without a further wait: each is then a sixteenth of a write unit, however fast they come. */
const collectedAtMost = 16;

interface Collected {
  use: Use;
  count: number;
  written: Promise<void>;
  write(): void;
}

/**
 * A usage store that writes the uses of concurrent requests together, one write for each key, agent and day. Each use
 * waits for its write, so each request knows whether its use is counted.
 * @param isAlone whether no other request runs: the use is then written at once
 */
export function combinedUsage(store: UsageStore, clock: Clock, isAlone: () => boolean): UsageStore {
  const open = new Map<string, Collected>();
  const collect = (owner: string, use: Use, day: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const write = (): void => {
      cancel();
      open.delete(owner);
      resolve(store.add(collected.use, day));
    };
    const cancel = clock.after(collectedFor, write);
    const collected: Collected = { use, count: 1, written: promise, write };
    open.set(owner, collected);
    return promise;
  };
  return {
    between: (...range) => store.between(...range),
    add(use, day) {
      if (isAlone()) return store.add(use, day);
      const owner = JSON.stringify([use.workspaceId, use.apiKeyId, use.agentId, day]);
      const known = open.get(owner);
      if (known === undefined) return collect(owner, use, day);
      known.use = combined(known.use, use);
      known.count += 1;
      if (known.count === collectedAtMost) known.write();
      return known.written;
    },
  };
}

const combined = (one: Use, other: Use): Use => ({
  ...one,
  counts: sumOf({ ...noCounts, ...one.counts }, other.counts),
  calls: [...one.calls, ...other.calls],
});
