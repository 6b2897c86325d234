import { markdownTable } from '../../bin/cost/markdown-table.ts';
import type { Report } from './report.ts';
import { formatNumber } from './report-table.ts';
import { summarize } from './statistics.ts';

/** What each part of the service held after its runs, medians; undefined when no run has told. */
export function memoryTable({ runs }: Pick<Report, 'runs'>): string | undefined {
  const entries = runs.flatMap(({ memory = [] }) => memory);
  if (entries.length === 0) return undefined;
  const lines = [...Map.groupBy(entries, ({ part }) => part)].map(([part, those]) => [
    part,
    formatNumber(summarize(those.map(({ threads }) => threads)).median),
    formatNumber(summarize(those.map(({ megabytes }) => megabytes)).median),
  ]);
  return markdownTable([['memory of the service after the run', 'threads', 'MB'], ...lines]);
}
