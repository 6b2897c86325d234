import { randomUUID } from 'node:crypto';
import type { Denial } from '../iam/access-rules.ts';
import { findFunction } from '../lambda/find-function.ts';
import type { InvokableFunction } from '../lambda/invokable-function.ts';
import { invokedArn } from '../lambda/invoked-arn.ts';
import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/resource-kind.ts';

export interface Schedule {
  readonly periodMilliseconds: number;
  readonly targets: readonly ScheduledTarget[];
}

export interface ScheduledTarget {
  readonly function: InvokableFunction;
  /** Evaluates the policies before each call. Undefined if they allow the call. */
  rejection(): Denial | undefined;
  payload(at: Date): string;
  /** How long a throttled call is retried. */
  readonly eventAgeMilliseconds: number;
}

interface ScheduleProperties {
  readonly ScheduleExpression?: string;
  readonly State?: string;
  readonly Targets?: readonly Target[];
}

interface Target {
  readonly Arn: string;
  readonly Input?: string;
  readonly RetryPolicy?: { readonly MaximumEventAgeInSeconds?: number };
}

// Lambda's default maximum age of an event.
const EVENT_AGE_SECONDS = 6 * 3600;

// A property that is not in this list would change which function is called, or when.
const SUPPORTED = ['Description', 'Name', 'RoleArn', 'ScheduleExpression', 'State', 'Tags', 'Targets'];

const SUPPORTED_OF_TARGETS = ['Arn', 'DeadLetterConfig', 'Id', 'Input', 'RetryPolicy', 'RoleArn'];

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/**
 * @returns undefined if the schedule is disabled
 * @throws Error if the time or the input of a call would differ from AWS
 */
export function readSchedule(
  resource: TemplateResource,
  arn: string,
  context: RunContext,
): Schedule | undefined {
  const resolved = context.resolve(resource.properties, resource.logicalId) as ScheduleProperties;
  const unsupported = Object.keys(resolved).find((name) => !SUPPORTED.includes(name));
  if (unsupported) reject(resource, `${unsupported} is not available locally`);
  const expression = resolved.ScheduleExpression ?? '';
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const periodMilliseconds = Number(count) * (UNIT_MILLISECONDS[unit] ?? 0);
  if (!(periodMilliseconds > 0))
    reject(resource, `"${expression}" is not available locally, only rate(…) is`);

  const targets = (resolved.Targets ?? []).map((target) => {
    const unsupportedOfTarget = Object.keys(target).find((name) => !SUPPORTED_OF_TARGETS.includes(name));
    if (unsupportedOfTarget) reject(resource, `${unsupportedOfTarget} of a target is not available locally`);
    const calledFunction =
      findFunction(context, target.Arn) ??
      reject(resource, `the target ${target.Arn} is no function of the template`);
    const payload = (at: Date) =>
      target.Input === undefined ? JSON.stringify(standardEvent(arn, at, context)) : target.Input;
    const { MaximumEventAgeInSeconds = EVENT_AGE_SECONDS } = target.RetryPolicy ?? {};
    const eventAgeMilliseconds = MaximumEventAgeInSeconds * 1000;
    const needed = { action: 'lambda:InvokeFunction', resource: invokedArn(calledFunction, target.Arn) };
    return {
      function: calledFunction,
      payload,
      eventAgeMilliseconds,
      rejection: () => context.access.denialOfService('events.amazonaws.com', arn, needed),
    };
  });
  return resolved.State === 'DISABLED' ? undefined : { periodMilliseconds, targets };
}

/** The event for a target that has no `Input`. */
function standardEvent(arn: string, at: Date, { accountId, region }: RunContext) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: accountId,
    time: at.toISOString().replace(/\.\d+Z$/, 'Z'),
    region,
    resources: [arn],
    detail: {},
  };
}
