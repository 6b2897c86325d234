import { IDLE_MILLISECONDS } from '../lambda/warm-threads.ts';
import type { RunContext } from '../run-context.ts';
import { systemTimer } from '../run-options.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
import { readSchedule, type Schedule, type ScheduledTarget } from './read-schedule.ts';

// A function may find work that is still under a lease of 30 s of a killed runner. After 35 s the lease has expired, so
// the second call of the function can take over this work.
const SECOND_RUN_MILLISECONDS = 35_000;

// Node's timers take at most 2^31 - 1 ms, 24 days.
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

// Lambda retries a throttled invocation with a growing backoff, until the event is too old.
const FIRST_BACKOFF_MILLISECONDS = 1000;
const MAX_BACKOFF_MILLISECONDS = 5 * 60_000;

/** EventBridge schedules that call functions: once at the start, once 35 s later, and at their rate. */
export const schedules: ResourceKind = {
  types: ['AWS::Events::Rule'],

  async open(resources, context) {
    const stops: (() => void)[] = [];
    const nameOf = ({ logicalId, properties }: TemplateResource): string =>
      String(context.resolve(properties.Name, logicalId) ?? context.nameOf(logicalId));
    const arnOf = (resource: TemplateResource) =>
      `arn:aws:events:${context.region}:${context.accountId}:rule/${nameOf(resource)}`;
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

/** Returns a function that stops the schedule. */
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

  function run(): void {
    const at = new Date();
    for (const target of targets) {
      const rejected = target.rejection();
      if (rejected) {
        context.options.onLog?.({ functionName: target.function.functionName, line: rejected.message });
        continue;
      }
      // As in AWS, without waiting for the previous call to end.
      call(target, target.payload(at));
    }
  }

  function call(
    target: ScheduledTarget,
    payload: string,
    age = 0,
    backoff = FIRST_BACKOFF_MILLISECONDS,
  ): void {
    void target.function.invoke(payload).then((result) => {
      // The next call comes when the threads would have ended anyway.
      if (periodMilliseconds > IDLE_MILLISECONDS) target.function.endIdleThreads();
      if (result.succeeded || stopped) return;
      if (result.throttle !== undefined && age + backoff <= target.eventAgeMilliseconds) {
        const next = Math.min(2 * backoff, MAX_BACKOFF_MILLISECONDS);
        after(backoff, () => call(target, payload, age + backoff, next));
        return;
      }
      const { functionName } = target.function;
      context.options.onLog?.({ functionName, line: `${result.errorType}: ${result.errorMessage}` });
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
