import type { Timeline } from './timeline.ts';

/** What may happen to a call, or to the process that makes it. */
export const faultKinds = [
  'fails before',
  'fails after',
  'repeated',
  'request late',
  'response late',
  'conflict',
  'throttled',
  'dies before',
  'dies after',
  'freezes before',
  'freezes after',
  'twice',
  'lost',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** What kind of call it is, by which faults it can have. */
export type CallType = 'read' | 'write' | 'send' | 'other';

/** A repeated read, and a read that fails after it was made, are like one that is late or fails before. */
const impossible: Readonly<Record<CallType, readonly FaultKind[]>> = {
  read: [
    'fails after',
    'repeated',
    'conflict',
    'twice',
    'lost',
    'request late',
    'dies after',
    'freezes after',
  ],
  write: ['twice', 'lost'],
  send: ['conflict'],
  other: ['conflict', 'repeated', 'twice', 'lost'],
};

export const isPossible = (type: CallType, fault: FaultKind): boolean => !impossible[type].includes(fault);

/** Which calls met which faults, by the name of the call. */
export type Coverage = Record<string, { type: CallType; faults: Partial<Record<FaultKind, number>> }>;

/** Adds to a coverage. A method that writes now and then counts as a write. */
export function cover(coverage: Coverage, name: string, added: Coverage[string]): void {
  coverage[name] ??= { type: added.type, faults: {} };
  const call = coverage[name];
  if (call.type === 'read' && added.type === 'write') call.type = added.type;
  for (const [fault, count] of Object.entries(added.faults) as [FaultKind, number][])
    call.faults[fault] = (call.faults[fault] ?? 0) + count;
}

/** A fault that waits for the call that it meets. */
interface Target {
  call: string;
  fault: FaultKind;
  /** Calls of this name that pass before. */
  skip: number;
}

/** What faults aim at. */
export interface Plan {
  /** Each with each fault that it can have. */
  calls: readonly [string, CallType][];
  aims: readonly (readonly [call: string, fault: FaultKind, weight: number])[];
}

/** Calls and faults of which a world takes some, in the order of seeds, so that many worlds together have all of them. */
function targetsOf(seed: number, timeline: Timeline, { calls, aims }: Plan): Target[] {
  const cells = calls.flatMap(([call, type]) =>
    faultKinds.filter((fault) => isPossible(type, fault)).map((fault) => ({ call, fault })),
  );
  for (const [call, fault, weight] of aims)
    cells.push(...Array.from({ length: weight }, () => ({ call, fault })));
  if (cells.length === 0) return [];
  const perWorld = 15;
  return Array.from({ length: perWorld }, (_, index) => ({
    // 7919 is a prime, so that neighbours are of different calls.
    ...(cells[((seed * perWorld + index) * 7919) % cells.length] as (typeof cells)[number]),
    skip: timeline.chance(0.7) ? 0 : timeline.below(6),
  }));
}

const fewestFaults = 5;

/** Faults by chance, and those whose turn it is by the seed. */
export function planFaults(seed: number, timeline: Timeline, plan: Plan) {
  const targets = targetsOf(seed, timeline, plan);
  const rate = timeline.pick([0, 0.001, 0.005]);
  // So that every world has at least so many faults, some come at their times, whatever call there is.
  const due = Array.from({ length: fewestFaults }, () => timeline.now + timeline.between(1000, 60_000)).sort(
    (one, other) => one - other,
  );
  let isOn = false;
  let count = 0;
  const choose = (call: string, type: CallType): FaultKind | undefined => {
    const index = targets.findIndex((target) => target.call === call && isPossible(type, target.fault));
    const target = targets[index];
    if (target !== undefined) {
      target.skip -= 1;
      if (target.skip < 0) {
        targets.splice(index, 1);
        return target.fault;
      }
    }
    if (timeline.now >= (due[0] ?? Infinity)) due.shift();
    else if (!timeline.chance(rate)) return undefined;
    return timeline.pick(faultKinds.filter((fault) => isPossible(type, fault)));
  };
  return {
    /** The fault of this call, if it has one. */
    next(call: string, type: CallType): FaultKind | undefined {
      if (!isOn) return undefined;
      const fault = choose(call, type);
      if (fault !== undefined) count += 1;
      return fault;
    },
    get isOn() {
      return isOn;
    },
    /** How many faults there were. */
    get count() {
      return count;
    },
    /** Before it, there are none. */
    start() {
      isOn = true;
    },
    /** After it, there are none. */
    end() {
      isOn = false;
    },
  };
}

export type FaultPlan = ReturnType<typeof planFaults>;
