import type { SoakReport } from './run-soak.ts';

/** If memory grows by more than this share of its mean while it is measured, it is reported as a leak. */
export const growthAtMost = 0.1;

/** Why a soak is not a success; empty if it is one. `checksMemory` needs a soak of at least ten minutes. */
export function failuresOf(report: SoakReport, options: { checksMemory: boolean }): string[] {
  const { unexpected, violations, problems, memory } = report;
  const growing = Object.entries(memory).filter(
    ([, { growth }]) => options.checksMemory && growth > growthAtMost,
  );
  return [
    ...unexpected,
    ...violations,
    ...problems,
    ...growing.map(([part, { growth }]) => `The memory of ${part} has grown by ${percent(growth)}`),
  ];
}

/** A report for docs/soak.md. */
export function pageOf(report: SoakReport, failures: readonly string[]): string {
  const { batches, webhooks } = report;
  return [
    `${duration(report.seconds)} with seed ${report.seed}: ${failures.length === 0 ? 'nothing went wrong' : `${failures.length} things went wrong`}.`,
    table(
      ['done', 'times', 'median, ms', 'slowest, ms'],
      Object.entries(report.done).map(([kind, { count, median, slowest }]) => [kind, count, median, slowest]),
    ),
    table(
      ['killed', 'times', 'threads'],
      Object.entries(report.kills).map(([name, { times, threads }]) => [name, times, threads]),
    ),
    `The model failed ${report.modelFailures} calls. ${batches.submitted} batches had ${batches.requests} requests; ${batches.cancelled} were cancelled. ${webhooks.events} sent their webhook event, in ${webhooks.calls} calls of which ${webhooks.rejected} were rejected. Requests that were retried because of a kill: ${Object.values(report.excused).reduce((sum, count) => sum + count, 0)}. The functions had ${report.threads} threads at most.`,
    table(
      ['memory of', 'mean, MB', 'most, MB', 'MB an hour', 'growth'],
      Object.entries(report.memory).map(([part, { mean, most, slope, growth }]) => [
        part,
        mean.toFixed(1),
        most.toFixed(1),
        slope.toFixed(1),
        percent(growth),
      ]),
    ),
    ...failures.map((failure) => `- ${failure}`),
  ].join('\n\n');
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

const duration = (seconds: number): string =>
  seconds < 120 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`;

const table = (head: string[], lines: (string | number)[][]): string =>
  [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
