import { allEnded } from '#domain/platform/promises.ts';
import { type Clock, groupsOf, sumOf } from '#domain/platform/services.ts';
import {
  costOf,
  type DayOfUsage,
  dayOf,
  type ModelUsage,
  noCounts,
  noModelUsage,
  type Prices,
  type UsageCounts,
  type UsageStore,
  type Use,
} from './usage.ts';
import type { Services } from './workspace.ts';

/** A failure is not thrown, so that the work does not fail by it. */
export async function countUsage(
  services: Services<'clock' | 'log' | 'meter' | 'usage'>,
  use: Use,
): Promise<void> {
  try {
    await services.usage.add(use, dayOf(services.clock.now()));
  } catch (error) {
    services.meter.usageNotCounted();
    const { apiKeyId, agentId, counts, calls } = use;
    services.log.error('Usage was not counted', { apiKeyId, agentId, ...counts, calls, error });
  }
}

export type UsageGrouping = 'day' | 'workspace' | 'key' | 'agent' | 'model';

export interface UsageLine {
  /** Null for the total. In lines by agent also for usage without an agent. */
  name: string | null;
  /** All 0 if the lines are grouped by model. */
  counts: UsageCounts;
  calls: ModelUsage;
  /** In 10⁻¹² dollars. Calls of a model on days on which it had no price are left out. */
  cost: bigint;
  unpriced: ReadonlySet<string>;
}

const nothing = { name: null, counts: noCounts, calls: noModelUsage, cost: 0n, unpriced: new Set<string>() };

const workspacesAtOnce = 10;

/** @param input `from` and `to` are UTC days, both included. Without `workspaceId`, the usage of all workspaces */
export async function summarizeUsage(
  services: Services<'prices' | 'usage' | 'workspaces'>,
  input: { workspaceId?: string | undefined; from: string; to: string; by: UsageGrouping },
): Promise<{ lines: UsageLine[]; total: UsageLine }> {
  const { workspaceId: id } = input;
  const workspaces = id === undefined ? await services.workspaces.list() : [{ id }];
  const prices = await services.prices.all();
  const lines = new Map<string | null, UsageLine>();
  let total: UsageLine = nothing;
  const addUsage = async ({ id }: { id: string }): Promise<void> => {
    for await (const days of services.usage.between(id, input.from, input.to))
      for (const line of days.flatMap((day) => linesOf(day, prices, input.by))) {
        lines.set(line.name, sum(lines.get(line.name) ?? { ...nothing, name: line.name }, line));
        total = sum(total, line);
      }
  };
  for (const group of groupsOf(workspaces, workspacesAtOnce)) await allEnded(group.map(addUsage));
  return {
    lines: [...lines.values()].toSorted((one, other) => (one.name ?? '').localeCompare(other.name ?? '')),
    total,
  };
}

function linesOf(day: DayOfUsage, prices: Prices, by: UsageGrouping): UsageLine[] {
  const models = Object.entries(day.models).map(([name, calls]): UsageLine => {
    const cost = costOf(prices[name], day.day, calls);
    const unpriced = cost === undefined ? new Set([name]) : nothing.unpriced;
    return { name, counts: noCounts, calls, cost: cost ?? 0n, unpriced };
  });
  if (by === 'model') return models;
  const name = { day: day.day, workspace: day.workspaceId, key: day.apiKeyId, agent: day.agentId }[by];
  return [models.reduce(sum, { ...nothing, name, counts: day.counts })];
}

const sum = (one: UsageLine, other: UsageLine): UsageLine => ({
  name: one.name,
  counts: sumOf(one.counts, other.counts),
  calls: sumOf(one.calls, other.calls),
  cost: one.cost + other.cost,
  unpriced: new Set([...one.unpriced, ...other.unpriced]),
});

/** In milliseconds. It is short, because Lambda kills a process soon after SIGTERM. */
const collectedFor = 500;

const collectedAtMost = 16;

interface Collected {
  use: Use;
  count: number;
  written: Promise<void>;
  write(): void;
}

/**
 * Writes the uses of concurrent requests of one key and agent together. Each request waits for the write of its use.
 * @param isAlone whether no other request runs; then the use is written at once
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
