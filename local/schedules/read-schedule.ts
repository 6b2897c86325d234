import { randomUUID } from 'node:crypto';
import type { Denial } from '../iam/access-rules.ts';
import { findFunction } from '../lambda/find-function.ts';
import type { InvokableFunction } from '../lambda/invokable-function.ts';
import { invokedArn } from '../lambda/invoked-arn.ts';
import type { RunContext } from '../run-context.ts';
import type { TemplateResource } from '../template/resource-kind.ts';

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
  readonly Target?: Target;
  readonly Targets?: readonly Target[];
}

interface Target {
  readonly Arn: string;
  readonly Input?: string;
  readonly RetryPolicy?: { readonly MaximumEventAgeInSeconds?: number };
  readonly RoleArn?: string;
}

// Lambda's default maximum age of an event.
const EVENT_AGE_SECONDS = 6 * 3600;

export const RULE = 'AWS::Events::Rule';

// Some of these properties have no effect here, such as a flexible time window. A property that is not in this list
// would change which function is called, or when.
const SUPPORTED: Readonly<Record<string, readonly string[]>> = {
  [RULE]: ['Description', 'Name', 'RoleArn', 'ScheduleExpression', 'State', 'Tags', 'Targets'],
  'AWS::Scheduler::Schedule': [
    'Description',
    'FlexibleTimeWindow',
    'GroupName',
    'KmsKeyArn',
    'Name',
    'ScheduleExpression',
    'ScheduleExpressionTimezone',
    'State',
    'Target',
  ],
};
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
  { logicalId, type, properties }: TemplateResource,
  arn: string,
  context: RunContext,
): Schedule | undefined {
  const reject = (text: string): never => {
    throw new Error(`${logicalId} (${type}): ${text}`);
  };
  const resolved = context.resolve(properties, logicalId) as ScheduleProperties;
  const unsupported = Object.keys(resolved).find((name) => !SUPPORTED[type]?.includes(name));
  if (unsupported) reject(`${unsupported} is not available locally`);
  const expression = resolved.ScheduleExpression ?? '';
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const periodMilliseconds = Number(count) * (UNIT_MILLISECONDS[unit] ?? 0);
  if (!(periodMilliseconds > 0)) reject(`"${expression}" is not available locally, only rate(…) is`);

  const targets = (resolved.Targets ?? [resolved.Target ?? { Arn: '' }]).map((target) => {
    const unsupportedOfTarget = Object.keys(target).find((name) => !SUPPORTED_OF_TARGETS.includes(name));
    if (unsupportedOfTarget) reject(`${unsupportedOfTarget} of a target is not available locally`);
    const calledFunction =
      findFunction(context, target.Arn) ?? reject(`the target ${target.Arn} is no function of the template`);
    const payload = (at: Date) =>
      target.Input === undefined
        ? JSON.stringify(standardEvent(type, arn, at, context))
        : replaceKeywords(target.Input, arn, at);
    const { MaximumEventAgeInSeconds = EVENT_AGE_SECONDS } = target.RetryPolicy ?? {};
    const eventAgeMilliseconds = MaximumEventAgeInSeconds * 1000;
    const needed = { action: 'lambda:InvokeFunction', resource: invokedArn(calledFunction, target.Arn) };
    if (type === RULE)
      return {
        function: calledFunction,
        payload,
        eventAgeMilliseconds,
        rejection: () => context.access.denialOfService('events.amazonaws.com', arn, needed),
      };
    const { accessKeyId } = context.access.assume({
      roleArn: target.RoleArn ?? '',
      service: 'scheduler.amazonaws.com',
      sessionName: logicalId,
    });
    return {
      function: calledFunction,
      payload,
      eventAgeMilliseconds,
      rejection: () => context.access.rejectionOf(accessKeyId, [needed]),
    };
  });
  return resolved.State === 'DISABLED' ? undefined : { periodMilliseconds, targets };
}

/** The event for a target that has no `Input`. */
function standardEvent(type: string, arn: string, at: Date, { accountId, region }: RunContext) {
  const isRule = type === RULE;
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: isRule ? 'aws.events' : 'aws.scheduler',
    account: accountId,
    time: formatSeconds(at),
    region,
    resources: [arn],
    detail: isRule ? {} : '{}',
  };
}

/** Replaces the keywords that EventBridge Scheduler replaces in an input. */
function replaceKeywords(input: string, arn: string, at: Date): string {
  return input
    .replaceAll('<aws.scheduler.schedule-arn>', arn)
    .replaceAll('<aws.scheduler.scheduled-time>', formatSeconds(at))
    .replaceAll('<aws.scheduler.execution-id>', randomUUID())
    .replaceAll('<aws.scheduler.attempt-number>', '1');
}

function formatSeconds(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}
