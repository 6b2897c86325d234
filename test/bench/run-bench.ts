import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { synthesize } from '../../bin/local/synthesize.ts';
import { drawReport } from './draw-report.ts';
import { type PhaseName, phaseNames } from './figures.ts';
import { functionTable, measureFunctions } from './measure-functions.ts';
import { measureSubject } from './measure-subject.ts';
import { memoryTable } from './memory-table.ts';
import { type Provider, startProvider } from './provider.ts';
import { type Report, type SubjectName, subjectNames } from './report.ts';
import { reportTable } from './report-table.ts';
import { seedingNote } from './seeded-pages.ts';
import { fullSizes, quickSizes, type Sizes } from './sizes.ts';
import { startBare } from './start-bare.ts';
import { startService } from './start-service.ts';
import type { StartedSubject, SubjectOptions } from './subject.ts';

interface Options {
  runs: number;
  only: PhaseName[];
  subjects: SubjectName[];
  quick: boolean;
  out?: string;
  draw?: string;
  into: string;
}

const starters: Readonly<Record<SubjectName, (options: SubjectOptions) => Promise<StartedSubject>>> = {
  bare: startBare,
  service: startService,
};

/** `npm run bench`. */
export async function runBench(argv: string[]): Promise<void> {
  const options = new Command('npm run bench --')
    .description(
      'Measures a local run of the service and a bare node:http server with node:sqlite that does the same work, both\n' +
        'with a scripted provider on this machine. Prints a Markdown table; a run of all takes two to four minutes.',
    )
    .option('--runs <number>', 'how often each server is started afresh and measured', readCount, 5)
    .option('--only <names>', `phases, separated by commas: ${phaseNames}`, readNames(phaseNames), [
      ...phaseNames,
    ])
    .option('--subjects <names>', `servers: ${subjectNames}`, readNames(subjectNames), [...subjectNames])
    .option('--quick', 'one short run, to check that everything works; its figures mean nothing', false)
    .option('--out <file>', 'write everything that was measured as JSON')
    .addOption(
      new Option(
        '--draw <file>',
        'measure nothing; draw the report of --out as latency.svg and batch-throughput.svg',
      ).conflicts(['out', 'quick']),
    )
    .option('--into <folder>', 'where --draw writes', 'docs')
    .parse(argv)
    .opts<Options>();
  try {
    if (options.draw !== undefined) {
      for (const file of await drawReport(options.draw, options.into)) console.log(file);
      return;
    }
    await measure(options);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

function readCount(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 99.');
  return Number(text);
}

const readNames =
  <Name extends string>(names: readonly Name[]) =>
  (text: string): Name[] => {
    const given = text.split(',').map((name) => name.trim());
    const unknown = given.find((name) => !(names as readonly string[]).includes(name));
    if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is not one of ${names}.`);
    return names.filter((name) => given.includes(name));
  };

async function measure(options: Options): Promise<void> {
  const sizes = options.quick ? quickSizes : fullSizes;
  const report: Report = {
    format: 1,
    madeAt: new Date().toISOString(),
    machine: describeMachine(),
    sizes: { ...sizes },
    notes: [seedingNote],
    runs: [],
  };
  if (options.only.includes('functions') && options.subjects.includes('service')) {
    report.functions = await measureFunctions(sizes.functionStarts, (line) =>
      console.error(`functions: ${line}`),
    );
    console.log(`${functionTable(report.functions)}\n`);
    await writeReport(report, options);
    if (options.only.length === 1) return;
  }
  await measureRuns(report, sizes, options);
  const tables = [reportTable(report), memoryTable(report)].filter((table) => table !== undefined);
  console.log([...tables, report.notes.join('\n')].join('\n\n'));
  const errors = report.runs.flatMap((run) =>
    run.errors.map((error) => `run ${run.run}, ${run.subject}: ${error}`),
  );
  if (errors.length > 0) throw new Error(`${errors.length} errors:\n${errors.slice(0, 20).join('\n')}`);
}

async function writeReport(report: Report, { out }: Options): Promise<void> {
  if (out !== undefined) await writeFile(out, `${JSON.stringify(report)}\n`);
}

/** Measures each server as often as requested, and adds each run to the report. */
async function measureRuns(report: Report, sizes: Sizes, options: Options): Promise<void> {
  const { subjects } = options;
  const runs = options.quick ? 1 : options.runs;
  const folder = await mkdtemp(join(tmpdir(), 'service-bench-'));
  const ending = endOnSignals();
  // One provider for all runs: its address is in the template, so the template is synthesized only once.
  const provider = await startProvider();
  const phases = new Set(options.only);
  try {
    const synthesis = subjects.includes('service')
      ? await synthesisOf(provider, join(folder, 'assembly'))
      : undefined;
    for (let run = 1; run <= runs; run += 1)
      // The order alternates between runs, so that no server is always the first.
      for (const name of run % 2 === 1 ? subjects : subjects.toReversed()) {
        const log = (line: string) => console.error(`run ${run}, ${name}: ${line}`);
        const own = join(folder, `${name}-${run}`);
        const measured = await measureRun(name, own, { provider, sizes, phases, log, ending });
        if (run === 1 && name === 'service' && synthesis !== undefined && phases.has('start'))
          measured.figures.synthesis = synthesis;
        report.runs.push({ run, subject: name, ...measured });
        await writeReport(report, options);
      }
  } finally {
    ending.stop();
    await provider.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Starts a server with its data in this folder, and measures it. */
async function measureRun(
  name: SubjectName,
  folder: string,
  { ending, ...how }: Omit<Parameters<typeof measureSubject>[0], 'started'> & { ending: Ending },
): ReturnType<typeof measureSubject> {
  await mkdir(folder);
  const started = await starters[name]({ folder, model: how.provider.url });
  try {
    how.log(`first response after ${started.firstStart.toFixed(1)} s`);
    return await ending.unless(measureSubject({ started, ...how }));
  } finally {
    await started.subject.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Seconds by which the first `npm start` on a machine is slower than the next ones. */
async function synthesisOf({ url }: Provider, folder: string): Promise<number> {
  const from = performance.now();
  await synthesize(folder, { openAiBaseUrl: url });
  return (performance.now() - from) / 1000;
}

interface Ending {
  /** Resolves with the work's result, or rejects when a signal arrives; the caller then closes what the work uses. */
  unless<Result>(work: Promise<Result>): Promise<Result>;
  stop(): void;
}

/** Makes Ctrl-C also end the servers and remove the files. */
function endOnSignals(): Ending {
  const { promise, reject } = Promise.withResolvers<never>();
  // Nothing awaits the promise before the first work, so a rejection would be unhandled.
  promise.catch(() => {});
  const end = (signal: string) => reject(new Error(`Ended by ${signal}`));
  process.once('SIGINT', end).once('SIGTERM', end);
  return {
    unless: async (work) => {
      work.catch(() => {});
      return Promise.race([work, promise]);
    },
    stop: () => process.off('SIGINT', end).off('SIGTERM', end),
  };
}

const describeMachine = (): Report['machine'] => ({
  processors: cpus().length,
  processor: cpus()[0]?.model ?? '',
  memoryBytes: totalmem(),
  system: `${type()} ${release()}`,
  node: process.version,
  loadBefore: loadavg()[0] ?? 0,
});
