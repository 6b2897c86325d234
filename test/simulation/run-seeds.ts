/** Runs worlds in a process of its own: for each message with seeds, it returns what they found. */
import type { Invariant, Violation } from './checks.ts';
import { type CallType, type Coverage, cover } from './faults.ts';
import { aims, rareCalls, scarceCalls, serviceCalls } from './service-calls.ts';
import { World } from './world.ts';

export interface Summary {
  faults: number;
  events: number;
  violations: (Violation & { seed: number })[];
  checks: Partial<Record<Invariant, number>>;
  calls: Coverage;
}

// Errors are expected by the thousand, and their stacks cost time.
Error.stackTraceLimit = 0;

const scarce = scarceCalls.map((name): [string, CallType] => [name, serviceCalls[name] as CallType]);
const calls = [...Object.entries({ ...serviceCalls, ...rareCalls }), ...scarce, ...scarce];

export const newWorld = (seed: number): World => new World(seed, { calls, aims });

export const emptySummary = (): Summary => ({ faults: 0, events: 0, violations: [], checks: {}, calls: {} });

async function runSeeds(seeds: readonly number[]): Promise<Summary> {
  const summary = emptySummary();
  for (const seed of seeds) {
    const { faults, events, violations, counts, coverage } = await newWorld(seed).run();
    addTo(summary, {
      ...{ faults, events, checks: Object.fromEntries(counts), calls: coverage },
      violations: violations.map((violation) => ({ ...violation, seed })),
    });
  }
  return summary;
}

export function addTo(sum: Summary, other: Summary): void {
  sum.faults += other.faults;
  sum.events += other.events;
  sum.violations.push(...other.violations);
  for (const [invariant, count] of Object.entries(other.checks) as [Invariant, number][])
    sum.checks[invariant] = (sum.checks[invariant] ?? 0) + count;
  for (const [name, call] of Object.entries(other.calls)) cover(sum.calls, name, call);
}

if (process.send !== undefined)
  process.on('message', async (seeds: number[]) => process.send?.(await runSeeds(seeds)));
