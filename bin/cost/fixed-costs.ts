import { routes } from '#contract/routes.ts';

/** The metrics of all alarms, minus the number of routes: a new route adds one metric, the errors of its function. */
const metricsWithoutRoutes = 65;

/**
 * What costs money in the stage `production` even if it is unused. `test/infra/alarms.test.ts` counts them in the
 * template, all but `metrics`.
 */
export const fixedCosts = {
  /** AWS bills an alarm by the number of its metrics. */
  alarmMetrics: metricsWithoutRoutes + Object.keys(routes).length,
  dashboards: 1,
  keys: 3,
  secrets: 4,
  /** Metrics that functions emit even if the service is idle: the reconciler's. */
  metrics: 3,
  /** Queues that Lambda polls. */
  polledQueues: 2,
  /** Minutes between two runs of the reconciler. */
  reconcilerMinutes: 1,
  /** Hours between two runs of the deletion of unused chats. */
  retentionHours: 1,
} as const;

/** The number of rules of each web ACL (setting `firewall`). With `webFunctions: none`, only the first one exists. */
export const firewallRules = { firewall: 4, originFirewall: 1 } as const;

export const daysPerMonth = 30;

/** Lambda starts with five pollers for each queue. */
const pollersPerQueue = 5;
/** A long poll of an empty queue waits so long for messages. */
const pollSeconds = 20;

export const idlePolls = (fixedCosts.polledQueues * pollersPerQueue * daysPerMonth * 86_400) / pollSeconds;

export const reconcilerRuns = (daysPerMonth * 1440) / fixedCosts.reconcilerMinutes;

export const retentionRuns = (daysPerMonth * 24) / fixedCosts.retentionHours;
