import type { ProcessLoad } from '#domain/platform/process-load.ts';

export const processLoad: ProcessLoad = {
  measure() {
    const start = performance.eventLoopUtilization();
    return () => performance.eventLoopUtilization(start).utilization;
  },
};
