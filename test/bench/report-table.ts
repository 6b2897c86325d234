import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { median } from './statistics.ts';

export const subjectNames = ['bare', 'service'] as const;
export type SubjectName = (typeof subjectNames)[number];

export interface RunReport {
  /** Counted from 1; the subjects of one run follow each other. */
  run: number;
  subject: SubjectName;
  /** By their labels. */
  figures: Record<string, number>;
  /** Wrong or missing replies and results. */
  errors: string[];
}

/**
 * All figures as a Markdown table: the median over the runs with the least and the greatest, and the ratio to the bare
 * server. Each ratio compares figures of the same run, so that temporary load on the machine slows down both.
 */
export function reportTable(runs: readonly RunReport[]): string {
  const runsOf = (name: SubjectName) => runs.filter(({ subject }) => subject === name);
  const present = subjectNames.filter((name) => runsOf(name).length > 0);
  const labels = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
  const lines = labels.map((label) => {
    const ratios = runsOf('service').flatMap(({ run, figures }) => {
      const own = figures[label];
      const bare = runsOf('bare').find((one) => one.run === run)?.figures[label];
      // The bare server has no emulator processes, for example.
      return own === undefined || bare === undefined || bare === 0 ? [] : [own / bare];
    });
    const values = present.map((name) => runsOf(name).flatMap(({ figures }) => figures[label] ?? []));
    return [label, ...[...values, ratios].map(formatSummary)];
  });
  const counts = present.map((name) => `${name}, runs: ${runsOf(name).length}`);
  return markdownTable([['median (least to greatest)', ...counts, 'service / bare'], ...lines]);
}

function formatSummary(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const middle = formatNumber(median(values));
  return min === max ? middle : `${middle} (${formatNumber(min)} to ${formatNumber(max)})`;
}

/** Three significant digits; whole numbers and numbers from 100 on without decimals. */
export const formatNumber = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 100
    ? String(Math.round(value))
    : String(Number(value.toPrecision(3)));
