import { type Alarm, type IMetric, type MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { minute, sumOf } from './alarms.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import { camelCase, type FunctionName } from './function-names.ts';
import type { Platform } from './platform.ts';
import { Rollout } from './rollout.ts';
import type { ServiceFunction } from './service-function.ts';

/** An alarm takes at most ten metrics. */
const functionsOfAlarm = 10;

/**
 * An alarm for crashes stops the roll-outs of all functions that it watches, and that for the gateway's errors stops
 * every roll-out. That does no harm: CloudFormation rolls back all functions of a deployment together.
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

/** `authorize-request` is in no group: it may throw for an unknown key, which Lambda counts as an error. */
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
        periods: [2, 5],
      });
      for (const name of names) alarmOf.set(name, alarm);
    }
  return alarmOf;
}

/**
 * A route's own function needs no such alarm: if it is throttled, the gateway responds with 500, which the gateway's
 * alarm counts.
 */
function watchThrottles({ alarms, functions, throttledUnseen }: Platform): void {
  alarms.add('FunctionsThrottled', {
    summary: `Lambda throttles functions of this stack: one of ${throttledUnseen.join(', ')}.`,
    metric: sumOfFunctions(functions, throttledUnseen, 'metricThrottles'),
    threshold: 10,
    periods: [2, 5],
  });
}

function watchConcurrency({ alarms, concurrency, settings: { accountConcurrency } }: Platform): void {
  alarms.add('ConcurrencyNearItsLimit', {
    summary: `Functions without a reservation use at least seven eighths of what ${accountConcurrency} executions of the account leave them.`,
    // Reservations count as claimed, also those of other stacks, whether they are in use or not.
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

export const concurrencyThreshold = (
  accountConcurrency: number,
  { unreserved }: Pick<ConcurrencyPlan, 'unreserved'>,
): number => accountConcurrency - Math.floor(unreserved / 8);

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
