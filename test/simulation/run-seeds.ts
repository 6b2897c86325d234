/** Runs worlds in a process of its own: for each message with seeds, it returns what they found. */
import type { Invariant, Violation } from './checks.ts';
import type { CallType, FaultKind } from './faults.ts';
import { aims, rareCalls, scarceCalls, serviceCalls } from './service-calls.ts';
import { World } from './world.ts';

export interface Summary {
  worlds: number;
  faults: number;
  events: number;
  fewestFaults: number;
  mostEvents: number;
  violations: (Violation & { seed: number })[];
  checks: Partial<Record<Invariant, number>>;
  calls: Record<string, { type: CallType; count: number; faults: Partial<Record<FaultKind, number>> }>;
}

// Errors are expected by the thousand, and their stacks cost time.
Error.stackTraceLimit = 0;

const scarce = scarceCalls.map((name): [string, CallType] => [name, serviceCalls[name] as CallType]);
const calls = [...Object.entries({ ...serviceCalls, ...rareCalls }), ...scarce, ...scarce];

export const newWorld = (seed: number): World => new World(seed, { calls, aims });

export const emptySummary = (): Summary => ({
  ...{ worlds: 0, faults: 0, events: 0, fewestFaults: Infinity, mostEvents: 0 },
  ...{ violations: [], checks: {}, calls: {} },
});

export async function runSeeds(seeds: readonly number[]): Promise<Summary> {
  const summary = emptySummary();
  for (const seed of seeds) {
    const result = await newWorld(seed).run();
    addTo(summary, {
      ...{ worlds: 1, faults: result.faults, fewestFaults: result.faults },
      ...{ events: result.events, mostEvents: result.events },
      violations: result.violations.map((violation) => ({ ...violation, seed })),
      checks: Object.fromEntries(result.counts),
      calls: Object.fromEntries(
        [...result.coverage.calls].map(([name, { faults, ...call }]) => [
          name,
          { ...call, faults: Object.fromEntries(faults) },
        ]),
      ),
    });
  }
  return summary;
}

export function addTo(sum: Summary, other: Summary): void {
  sum.worlds += other.worlds;
  sum.faults += other.faults;
  sum.events += other.events;
  sum.fewestFaults = Math.min(sum.fewestFaults, other.fewestFaults);
  sum.mostEvents = Math.max(sum.mostEvents, other.mostEvents);
  sum.violations.push(...other.violations);
  addCounts(sum.checks, other.checks);
  for (const [name, { type, count, faults }] of Object.entries(other.calls)) {
    sum.calls[name] ??= { type, count: 0, faults: {} };
    const call = sum.calls[name];
    if (type === 'write') call.type = type;
    call.count += count;
    addCounts(call.faults, faults);
  }
}

function addCounts<Name extends string>(
  sum: Partial<Record<Name, number>>,
  other: Partial<Record<Name, number>>,
): void {
  for (const [name, count] of Object.entries(other) as [Name, number][]) sum[name] = (sum[name] ?? 0) + count;
}

if (process.send !== undefined)
  process.on('message', async (seeds: number[]) => process.send?.(await runSeeds(seeds)));
