import { type Alarm, type IMetric, type MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { minute, sumOf } from './alarms.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import { camelCase, type FunctionName } from './function-names.ts';
import type { Platform } from './platform.ts';
import { Rollout } from './rollout.ts';
import type { ServiceFunction } from './service-function.ts';

/** The maximum number of functions in one alarm, because an alarm takes at most ten metrics. */
const functionsOfAlarm = 10;

/**
 * Watches functions, and rolls out new code gradually unless the setting `rollout` is `AllAtOnce`. CodeDeploy stops the
 * roll-out of a function when the alarm of its group is raised. A crash of another function also raises it. That does
 * no harm, because CloudFormation rolls back all functions of a deployment together.
 * @param gatewayErrors the alarm that stops the roll-out of every function
 */
export function watchFunctions(platform: Platform, gatewayErrors: Alarm): void {
  const { functions, settings, stack } = platform;
  const crashes = watchCrashes(platform);
  if (settings.rollout !== 'AllAtOnce') {
    const rollout = new Rollout(stack, 'Rollout', settings.rollout);
    for (const [name, handler] of functions) {
      rollout.of(handler, [crashes.get(name) ?? [], gatewayErrors].flat());
    }
  }
  watchThrottles(platform);
  watchConcurrency(platform);
}

/**
 * Adds the alarms for crashes and timeouts, by groups of functions. Failures that a function handles are not crashes.
 * `authorize-request` is in no group: it throws for unknown keys, which Lambda counts as errors. For its real failures
 * the gateway responds with 500.
 * @returns the alarm of each function that is in a group
 */
function watchCrashes({ alarms, functions, groups }: Platform): Map<FunctionName, Alarm> {
  const alarmOf = new Map<FunctionName, Alarm>();
  for (const [group, all] of groups)
    for (let first = 0; first < all.length; first += functionsOfAlarm) {
      const names = all.slice(first, first + functionsOfAlarm);
      const alarm = alarms.add(`${group}FunctionErrors${first === 0 ? '' : first / functionsOfAlarm + 1}`, {
        summary: `A function crashes or times out: one of ${names.join(', ')}.`,
        heading: 'function-errors',
        metric: sumOfFunctions(functions, names, 'metricErrors'),
        threshold: 1,
        // A single failure is no reason for an alarm: the queue, the workflow and clients retry.
        periods: [2, 5],
      });
      for (const name of names) alarmOf.set(name, alarm);
    }
  return alarmOf;
}

/**
 * Adds the alarm for functions whose throttled calls the gateway does not see, or that every route needs. A route whose
 * own function is throttled responds with 500, which the alarm of the gateway counts.
 */
function watchThrottles({ alarms, functions, throttledUnseen }: Platform): void {
  alarms.add('FunctionsThrottled', {
    summary: `Lambda throttles functions of this stack: one of ${throttledUnseen.join(', ')}.`,
    metric: sumOfFunctions(functions, throttledUnseen, 'metricThrottles'),
    // A short burst is no reason for an alarm: callers of these functions retry.
    threshold: 10,
    periods: [2, 5],
  });
}

/** Adds the alarm for an account whose concurrency is nearly used up. */
function watchConcurrency({ alarms, concurrency, settings: { accountConcurrency } }: Platform): void {
  alarms.add('ConcurrencyNearItsLimit', {
    summary: `Functions without a reservation use at least seven eighths of what ${accountConcurrency} executions of the account leave them.`,
    // Reservations count as claimed, those of other stacks too, whether they are in use or not.
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: 'Maximum',
      period: minute,
    }),
    threshold: concurrencyThreshold(accountConcurrency, concurrency),
    periods: [3, 5],
  });
}

/** Returns the claimed concurrency at which an eighth of `unreserved`, rounded down, is left. */
export const concurrencyThreshold = (
  accountConcurrency: number,
  { unreserved }: Pick<ConcurrencyPlan, 'unreserved'>,
): number => accountConcurrency - Math.floor(unreserved / 8);

/** Returns the sum of a metric over functions. */
function sumOfFunctions(
  functions: ReadonlyMap<FunctionName, ServiceFunction>,
  names: readonly FunctionName[],
  metricOf: 'metricErrors' | 'metricThrottles',
): MathExpression {
  const metrics: Record<string, IMetric> = {};
  for (const name of names) {
    const metric = functions.get(name)?.[metricOf]({ period: minute, statistic: 'Sum' });
    if (metric !== undefined) metrics[camelCase(name)] = metric;
  }
  return sumOf(metrics, minute);
}
