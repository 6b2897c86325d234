import { routes } from '#contract/routes.ts';

/** The metrics of alarms, without one for each route. */
const metricsWithoutRoutes = 65;

/** Counts of what costs money in the stage `production` even if it is unused, and the intervals of its schedules. */
export const fixedCosts = {
  /** AWS bills an alarm by the number of its metrics. */
  alarmMetrics: metricsWithoutRoutes + Object.keys(routes).length,
  dashboards: 1,
  keys: 3,
  secrets: 4,
  /** The reconciler emits them even if the service is idle. */
  metrics: 3,
  polledQueues: 2,
  reconcilerMinutes: 1,
  retentionHours: 1,
} as const;

export const firewallRules = { firewall: 4, originFirewall: 1 } as const;

export const daysPerMonth = 30;

/** Lambda starts with five pollers for each queue. */
const pollersPerQueue = 5;
const pollSeconds = 20;

export const idlePolls = (fixedCosts.polledQueues * pollersPerQueue * daysPerMonth * 86_400) / pollSeconds;

export const reconcilerRuns = (daysPerMonth * 1440) / fixedCosts.reconcilerMinutes;

export const retentionRuns = (daysPerMonth * 24) / fixedCosts.retentionHours;
