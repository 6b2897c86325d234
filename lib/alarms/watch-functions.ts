import type { Alarm, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type Alarms, minute, sumOf } from '../alarms.ts';
import type { ConcurrencyPlan } from '../concurrency.ts';
import type { FunctionName } from '../function-names.ts';
import type { ServiceFunction } from '../service-function.ts';

type Functions = ReadonlyMap<FunctionName, ServiceFunction>;

/**
 * The functions whose crashes have one alarm. An alarm takes at most ten metrics. CodeDeploy stops the roll-out of a
 * function when the alarm of its group goes off, also for a crash of another function: that is no loss, because
 * CloudFormation rolls back all functions of a deployment together.
 *
 * `authorize-request` is in no group: it throws for every unknown key, which Lambda counts as an error. For its real
 * failures the gateway responds with 500. `delete-unused-chats` runs once an hour: its alarm (`watchUnusedChats`) would be
 * on for hours, and would stop the roll-out of its own repair. The operator who invokes `test-agent` gets its errors.
 */
export const functionGroups = {
  Chat: [
    'list-published-agents',
    'create-chat',
    'list-chats',
    'get-chat',
    'rename-chat',
    'list-messages',
    'send-message',
    'stop-reply',
    'resume-stream',
    'record-feedback',
  ],
  FileAndDeletion: [
    'upload-file',
    'prepare-attachment',
    'delete-chat',
    'delete-file',
    'erase-user',
    'purge-chat',
  ],
  Completion: ['list-models', 'get-model', 'complete-chat', 'reject-openai-path'],
  BatchRoute: ['create-batch', 'list-batches', 'get-batch', 'list-batch-results', 'cancel-batch'],
  BatchWork: [
    'process-batch-items',
    'dispatch-batch',
    'advance-batch',
    'fail-batch',
    'deliver-webhook',
    'reconcile-batches',
  ],
} as const satisfies Record<string, readonly FunctionName[]>;

/**
 * Functions whose throttled calls the gateway does not see, or that every route needs. A route whose own function is
 * throttled responds with 500, which the alarm of the gateway counts. `delete-unused-chats` may wait for an hour.
 */
const throttledUnseen: readonly FunctionName[] = [
  'authorize-request',
  'prepare-attachment',
  'purge-chat',
  ...functionGroups.BatchWork,
];

/**
 * Crashes and timeouts. Failures that a function handles appear as the gateway's errors or as failed batch items.
 * @returns the alarm of each function that is in a group
 */
export function watchFunctions(alarms: Alarms, functions: Functions): Map<FunctionName, Alarm> {
  const alarmOf = new Map<FunctionName, Alarm>();
  for (const [group, names] of Object.entries(functionGroups)) {
    const watched = metricsOf(functions, names, (handler) =>
      handler.metricErrors({ period: minute, statistic: 'Sum' }),
    );
    if (Object.keys(watched).length === 0) continue;
    const alarm = alarms.add(`${group}FunctionErrors`, {
      summary: `A function crashes or times out: one of ${names.filter((name) => functions.has(name)).join(', ')}.`,
      heading: 'function-errors',
      metric: sumOf(watched, minute),
      threshold: 1,
      // A single failure is no reason for an alarm: the queue, the workflow and clients retry.
      periods: [2, 5],
    });
    for (const name of names) alarmOf.set(name, alarm);
  }
  return alarmOf;
}

/** Watches the functions of this stack that Lambda throttles, and the part of the account's concurrency that is free. */
export function watchConcurrency(
  alarms: Alarms,
  functions: Functions,
  { accountConcurrency, plan }: { accountConcurrency: number; plan: ConcurrencyPlan },
): void {
  alarms.add('FunctionsThrottled', {
    summary: `Lambda throttles functions of this stack: one of ${throttledUnseen.join(', ')}.`,
    metric: sumOf(
      metricsOf(functions, throttledUnseen, (handler) =>
        handler.metricThrottles({ period: minute, statistic: 'Sum' }),
      ),
      minute,
    ),
    // Callers of these functions retry, and a burst is throttled for seconds. Ten in a minute are more than a burst.
    threshold: 10,
    periods: [2, 5],
  });
  alarms.add('ConcurrencyNearItsLimit', {
    summary: `Functions without a reservation use at least seven eighths of what ${accountConcurrency} executions of the account leave them.`,
    // Reservations count as claimed, those of other stacks too, whether they are in use or not.
    metric: new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: 'Maximum',
      period: minute,
    }),
    threshold: concurrencyThreshold(accountConcurrency, plan),
    periods: [3, 5],
  });
}

/** The claimed concurrency at which functions without a reservation use seven eighths of what is left to them. */
export const concurrencyThreshold = (
  accountConcurrency: number,
  { unreserved }: Pick<ConcurrencyPlan, 'unreserved'>,
): number => accountConcurrency - Math.floor(unreserved / 8);

/** The metrics of those functions that exist, by their names in camel case. */
const metricsOf = (
  functions: Functions,
  names: readonly FunctionName[],
  metricOf: (handler: ServiceFunction) => IMetric,
): Record<string, IMetric> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const handler = functions.get(name);
      const id = name.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
      return handler === undefined ? [] : [[id, metricOf(handler)]];
    }),
  );
