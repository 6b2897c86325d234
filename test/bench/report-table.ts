import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { type FigureName, figureNames, figures } from './figures.ts';
import { type Report, type SubjectName, subjectNames } from './report.ts';
import { type Summary, summarize } from './statistics.ts';

/**
 * All figures as a Markdown table: the median over the runs with the least and the greatest, and the ratio to the bare
 * server. Each ratio compares figures of the same run, so that temporary load on the machine slows down both.
 */
export function reportTable({ runs }: Pick<Report, 'runs'>): string {
  const present = subjectNames.filter((name) => runs.some(({ subject }) => subject === name));
  const figureOf = (run: number, subject: SubjectName, figure: FigureName): number | undefined =>
    runs.find((one) => one.run === run && one.subject === subject)?.figures[figure];
  const runNumbers = [...new Set(runs.map(({ run }) => run))];

  const lines = figureNames.flatMap((figure) => {
    const summaries = present.map((subject) =>
      summaryOf(runNumbers.map((run) => figureOf(run, subject, figure))),
    );
    if (summaries.every((summary) => summary === undefined)) return [];
    const ratios = runNumbers.map((run) =>
      ratioOf(figureOf(run, 'service', figure), figureOf(run, 'bare', figure)),
    );
    const { label, unit } = figures[figure];
    const cells = summaries.map(formatSummary);
    if (present.length === subjectNames.length) cells.push(formatSummary(summaryOf(ratios)));
    return [[unit === '' ? label : `${label}, ${unit === '/s' ? 'a second' : unit}`, ...cells]];
  });
  const counts = present.map(
    (subject) => `${subject}, ${formatRuns(runs.filter((run) => run.subject === subject).length)}`,
  );
  const heads = ['median (least to greatest)', ...counts];
  if (present.length === subjectNames.length) heads.push('service / bare');
  return markdownTable([heads, ...lines]);
}

const summaryOf = (values: readonly (number | undefined)[]): Summary | undefined => {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : summarize(known);
};

/** Undefined if the bare server has no such figure, or zero, such as its emulator processes. */
const ratioOf = (service: number | undefined, bare: number | undefined): number | undefined =>
  service === undefined || bare === undefined || bare === 0 ? undefined : service / bare;

const formatRuns = (count: number): string => (count === 1 ? '1 run' : `${count} runs`);

function formatSummary(summary: Summary | undefined): string {
  if (summary === undefined) return '–';
  const { median, min, max } = summary;
  return min === max
    ? formatNumber(median)
    : `${formatNumber(median)} (${formatNumber(min)} to ${formatNumber(max)})`;
}

/** Three significant digits; whole numbers and numbers from 100 on without decimals. */
export const formatNumber = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 100
    ? String(Math.round(value))
    : String(Number(value.toPrecision(3)));
