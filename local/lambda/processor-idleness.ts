import { cpus } from 'node:os';

export interface ProcessorTimes {
  readonly idle: number;
  readonly total: number;
}

/** Of all processors together, milliseconds since the machine began, in steps of 10. */
export function readProcessorTimes(): ProcessorTimes {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { idle, total };
}

/** The share of the time between that no processor had anything to do. */
export function idleShare(from: ProcessorTimes, to: ProcessorTimes): number {
  return to.total === from.total ? 0 : (to.idle - from.idle) / (to.total - from.total);
}
