import { markdownTable } from '../../bin/cost/markdown-table.ts';
import type { Report } from './report.ts';
import { formatNumber } from './report-table.ts';
import { summarize } from './statistics.ts';

/** The memory of each part of the service after its runs, as medians; undefined if no run has measured it. */
export function memoryTable({ runs }: Pick<Report, 'runs'>): string | undefined {
  const entries = runs.flatMap(({ memory = [] }) => memory);
  if (entries.length === 0) return undefined;
  const lines = [...Map.groupBy(entries, ({ part }) => part)].map(([part, samples]) => [
    part,
    formatNumber(summarize(samples.map(({ threads }) => threads)).median),
    formatNumber(summarize(samples.map(({ megabytes }) => megabytes)).median),
  ]);
  return markdownTable([['memory of the service after the run', 'threads', 'MB'], ...lines]);
}
