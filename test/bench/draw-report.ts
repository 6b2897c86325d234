import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Report, type RunReport, report, type SubjectName, subjectNames } from './report.ts';
import { percentile, ratesOver } from './statistics.ts';
import { drawChart, type Panel, type Series } from './svg-chart.ts';

/**
 * Draws the charts of a benchmark's report.
 * @returns the files that were written
 * @throws Error if the file is not such a report, or has neither latencies nor batches
 */
export async function drawReport(file: string, folder: string): Promise<string[]> {
  const read = report.parse(JSON.parse(await readFile(file, 'utf8')));
  const drawings = { 'latency.svg': drawLatency(read), 'batch-throughput.svg': drawThroughput(read) };
  const written: string[] = [];
  for (const [name, drawing] of Object.entries(drawings))
    if (drawing !== undefined) {
      await writeFile(join(folder, name), drawing);
      written.push(join(folder, name));
    }
  if (written.length === 0) throw new Error(`${file} has neither latencies nor batches`);
  return written;
}

const nameOf: Readonly<Record<SubjectName, string>> = {
  bare: 'bare node:http and node:sqlite',
  service: 'the service, npm start',
};

const phases = { single: 'one reply at a time', parallel: '16 replies at once' } as const;

/** Undefined if no run has measured latencies. */
export function drawLatency({ runs }: Pick<Report, 'runs'>): string | undefined {
  const panels: Panel[] = Object.entries(phases).flatMap(([phase, title]) => {
    const series = subjectNames.flatMap((subject, color): Series[] => {
      const distributions = runs.flatMap((run) => {
        const distribution = run.distributions[phase as keyof typeof phases];
        return run.subject === subject && distribution !== undefined ? [distribution] : [];
      });
      if (distributions.length === 0) return [];
      const at = (index: number) => distributions.map((distribution) => distribution[index] ?? 0);
      const curve = (share: number) =>
        Array.from({ length: 101 }, (_, index) => ({ x: percentile(at(index), share), y: index }));
      return [
        {
          name: nameOf[subject],
          color,
          points: curve(0.5),
          band: [...curve(0), ...curve(1).toReversed()],
        },
      ];
    });
    if (series.length === 0) return [];
    return [
      {
        title,
        x: { label: 'milliseconds to the first delta', log: true },
        y: { label: '% of replies' },
        series,
      },
    ];
  });
  if (panels.length === 0) return undefined;
  return drawChart({
    title: 'Time to the first delta of a streamed reply',
    description:
      'Share of replies whose first delta has come; the median of the runs, in the band of all runs.',
    panels,
  });
}

/** Number of equal parts of a batch's time: of 1000 requests, about thirty end in each. */
const parts = 30;

/** Undefined if no run has measured batches. */
export function drawThroughput({ runs }: Pick<Report, 'runs'>): string | undefined {
  const panels = subjectNames.flatMap((subject, color): Panel[] => {
    const batches = runs.filter(
      (run): run is RunReport & { batchSeconds: number[] } =>
        run.subject === subject && (run.batchSeconds?.length ?? 0) > 0,
    );
    if (batches.length === 0) return [];
    const endOf = ({ batchSeconds }: { batchSeconds: number[] }) => batchSeconds.at(-1) ?? 0;
    const sorted = batches.toSorted((one, other) => endOf(one) - endOf(other));
    const middle = sorted[Math.floor((sorted.length - 1) / 2)];
    const series = sorted.map(
      (run): Series => ({
        name: nameOf[subject],
        color,
        faint: run !== middle,
        points: ratesOver(run.batchSeconds, endOf(run), parts).map((part) => ({
          x: part.middle,
          y: part.rate,
        })),
      }),
    );
    return [
      {
        title: nameOf[subject],
        x: { label: 'seconds since the submission' },
        y: { label: 'requests ended a second' },
        // The median run is drawn last, above the others.
        series: series.toSorted((one, other) => Number(other.faint) - Number(one.faint)),
      },
    ];
  });
  if (panels.length === 0) return undefined;
  return drawChart({
    title: 'Requests of a batch that end in a second',
    description:
      'The run that took the median time, and the others behind it; each server on a scale of its own.',
    panels,
  });
}
