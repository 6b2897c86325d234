/**
 * What stands in the template of the stage production, used or not. `test/infra/cost.test.ts` counts it there.
 */
export const fixedCosts = {
  /** An alarm costs by the metrics that it looks at. */
  alarmMetrics: 52,
  dashboards: 1,
  keys: 2,
  secrets: 2,
  /** Metrics of functions that are told when nothing happens: the reconciler's. */
  metrics: 1,
  /** Queues that Lambda polls. */
  polledQueues: 2,
  /** Minutes between two runs of the reconciler. */
  reconcilerMinutes: 1,
} as const;

export const daysAMonth = 30;

/** Lambda begins with five pollers a queue, each of which waits 20 s for messages. */
const pollersPerQueue = 5;
const pollSeconds = 20;

export const idlePolls = (fixedCosts.polledQueues * pollersPerQueue * daysAMonth * 86_400) / pollSeconds;

export const reconcilerRuns = (daysAMonth * 1440) / fixedCosts.reconcilerMinutes;
