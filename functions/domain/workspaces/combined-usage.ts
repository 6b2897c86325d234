import type { Clock } from '#domain/platform/clock.ts';
import { noCounts, sumOfCounts, type Use } from './usage.ts';
import type { UsageStore } from './usage-store.ts';

/** Milliseconds for which uses are collected. A process that must end has about a second (`serve-routes.ts`). */
const collectedFor = 200;

interface Collected {
  use: Use;
  written: Promise<void>;
}

/**
 * A usage store that writes the uses of concurrent requests together, one write for each key, agent and day. Each use
 * waits for its write, so each request knows whether its use is counted.
 * @param isAlone whether no other request runs: the use is then written at once
 */
export function combinedUsage(store: UsageStore, clock: Clock, isAlone: () => boolean): UsageStore {
  const open = new Map<string, Collected>();
  return {
    between: (...range) => store.between(...range),
    add(use, day) {
      if (isAlone()) return store.add(use, day);
      const owner = JSON.stringify([use.workspaceId, use.apiKeyId, use.agentId, day]);
      const known = open.get(owner);
      if (known !== undefined) {
        known.use = sumOf(known.use, use);
        return known.written;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const collected: Collected = { use, written: promise };
      open.set(owner, collected);
      clock.after(collectedFor, () => {
        open.delete(owner);
        resolve(store.add(collected.use, day));
      });
      return promise;
    },
  };
}

const sumOf = (one: Use, other: Use): Use => ({
  ...one,
  counts: sumOfCounts({ ...noCounts, ...one.counts }, { ...noCounts, ...other.counts }),
  calls: [...one.calls, ...other.calls],
});
