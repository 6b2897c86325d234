import { randomUUID } from 'node:crypto';
import { findFunction, invokedArn } from '../lambda/find-function.ts';
import { IDLE_MILLISECONDS } from '../lambda/function-pool.ts';
import type { RunContext } from '../run-context.ts';
import { systemTimer } from '../run-options.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, rejectOthers, type TemplateResource } from '../template/template-resource.ts';

// The work of a killed runner may be under a lease of 30 s, which has expired after 35 s.
const SECOND_RUN_MILLISECONDS = 35_000;

// Node's timers take at most 2^31 - 1 ms (24.8 days). A schedule with a longer period does not repeat here.
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

// As in AWS, the wait before a retry of a throttled invocation grows from 1 s to 5 minutes.
const FIRST_BACKOFF_MILLISECONDS = 1000;
const MAX_BACKOFF_MILLISECONDS = 5 * 60_000;

/** The functions are also called at the start, and once 35 s later. */
export const schedules: ResourceKind = {
  types: ['AWS::Events::Rule'],

  async open(resources, context) {
    const stops: (() => void)[] = [];
    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'Name');
    const arnOf = (resource: TemplateResource) => context.arnOf('events', `rule/${nameOf(resource)}`);
    return {
      ref: nameOf,
      attribute: (resource, name) => (name === 'Arn' ? arnOf(resource) : undefined),
      async start() {
        for (const resource of resources) {
          const schedule = readSchedule(resource, arnOf(resource), context);
          if (schedule) stops.push(startSchedule(schedule, context));
        }
      },
      async close() {
        for (const stop of stops) stop();
      },
    };
  },
};

function startSchedule({ periodMilliseconds, targets }: Schedule, context: RunContext): () => void {
  const timer = context.options.timer ?? systemTimer;
  const cancels = new Set<() => void>();
  let stopped = false;

  function after(milliseconds: number, callback: () => void): void {
    const cancel = timer.after(milliseconds, () => {
      cancels.delete(cancel);
      callback();
    });
    cancels.add(cancel);
  }

  const log = ({ function: { functionName } }: ScheduledTarget, line: string) =>
    context.options.onLog?.({ functionName, line });

  function run(): void {
    const at = new Date();
    for (const target of targets) {
      const rejected = target.rejection();
      if (rejected) log(target, rejected.message);
      // As in AWS, a call does not wait for the end of the previous one.
      else call(target, target.payload(at));
    }
  }

  function call(
    target: ScheduledTarget,
    payload: string,
    age = 0,
    backoff = FIRST_BACKOFF_MILLISECONDS,
  ): void {
    void target.function.invoke(payload).then((result) => {
      // Idle threads would occupy memory, and probably end before the next call.
      if (periodMilliseconds > IDLE_MILLISECONDS) target.function.endIdleThreads();
      if (result.succeeded || stopped) return;
      if (result.throttle !== undefined && age + backoff <= target.eventAgeMilliseconds) {
        const next = Math.min(2 * backoff, MAX_BACKOFF_MILLISECONDS);
        after(backoff, () => call(target, payload, age + backoff, next));
      } else log(target, `${result.errorType}: ${result.errorMessage}`);
    });
  }

  function repeat(): void {
    if (periodMilliseconds > MAX_TIMER_MILLISECONDS) return;
    after(periodMilliseconds, () => {
      repeat();
      run();
    });
  }

  void context.serving.promise.then(() => {
    if (stopped) return;
    after(0, run);
    after(SECOND_RUN_MILLISECONDS, run);
    repeat();
  });

  return () => {
    stopped = true;
    for (const cancel of cancels) cancel();
  };
}

type Schedule = NonNullable<ReturnType<typeof readSchedule>>;
type ScheduledTarget = Schedule['targets'][number];

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

// As long as Lambda keeps an event by default.
const EVENT_AGE_SECONDS = 6 * 3600;

// Other properties are rejected, because they could change the calls.
const SUPPORTED = ['Description', 'Name', 'RoleArn', 'ScheduleExpression', 'State', 'Tags', 'Targets'];

const SUPPORTED_OF_TARGETS = ['Arn', 'DeadLetterConfig', 'Id', 'Input', 'RetryPolicy', 'RoleArn'];

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

function readSchedule(resource: TemplateResource, arn: string, context: RunContext) {
  const properties = context.read<ScheduleProperties>(resource);
  rejectOthers(resource, properties, SUPPORTED);
  const { ScheduleExpression: expression = '', State, Targets = [] } = properties;
  const [, count, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const periodMilliseconds = Number(count) * (UNIT_MILLISECONDS[unit] ?? 0);
  if (!(periodMilliseconds > 0))
    reject(resource, `"${expression}" is not available locally, only rate(…) is`);

  const targets = Targets.map((target) => {
    rejectOthers(resource, target, SUPPORTED_OF_TARGETS, ' of a target');
    const calledFunction =
      findFunction(context, target.Arn) ??
      reject(resource, `the target ${target.Arn} is no function of the template`);
    const { MaximumEventAgeInSeconds = EVENT_AGE_SECONDS } = target.RetryPolicy ?? {};
    const needed = { action: 'lambda:InvokeFunction', resource: invokedArn(calledFunction, target.Arn) };
    return {
      function: calledFunction,
      payload: (at: Date) => target.Input ?? JSON.stringify(standardEvent(arn, at, context)),
      eventAgeMilliseconds: MaximumEventAgeInSeconds * 1000,
      rejection: () => context.access.denialOfService('events.amazonaws.com', arn, needed),
    };
  });
  return State === 'DISABLED' ? undefined : { periodMilliseconds, targets };
}

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
