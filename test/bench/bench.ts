import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { type FunctionReport, measureFunctions } from './measure-functions.ts';
import { type MeasureOptions, measureServer, phaseNames } from './measure-server.ts';
import { startProvider } from './provider.ts';
import { formatNumber, type RunReport, reportTable, type SubjectName, subjectNames } from './report-table.ts';
import type { Server, StartServer } from './server.ts';
import { sizesOf } from './sizes.ts';
import { startBare } from './start-bare.ts';
import { startService } from './start-service.ts';

const allPhases = ['functions', 'start', ...phaseNames];

const options = new Command('npm run bench --')
  .description(
    'Measures a local run of the service and a bare node:http server with node:sqlite that does the same work, both\n' +
      'with a scripted provider on this machine. Prints a Markdown table; a run of all takes three to five minutes.',
  )
  .option('--runs <number>', 'how often each server is started afresh and measured', readCount, 5)
  .option('--only <names>', `phases, separated by commas: ${allPhases}`, readNames(allPhases), allPhases)
  .option('--subjects <names>', `servers: ${subjectNames}`, readNames(subjectNames), [...subjectNames])
  .option('--quick', 'one short run, to check that everything works; its figures mean nothing', false)
  .option('--out <file>', 'write everything that was measured as JSON')
  .parse()
  .opts<{ runs: number; only: string[]; subjects: SubjectName[]; quick: boolean; out?: string }>();

function readCount(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 99.');
  return Number(text);
}

function readNames<Name extends string>(names: readonly Name[]): (text: string) => Name[] {
  return (text) => {
    const given = text.split(',').map((name) => name.trim());
    const unknown = given.find((name) => !(names as readonly string[]).includes(name));
    if (unknown !== undefined) throw new InvalidArgumentError(`${unknown} is not one of ${names}.`);
    return names.filter((name) => given.includes(name));
  };
}

const { only, subjects } = options;
const sizes = sizesOf(options.quick);
const report = {
  madeAt: new Date().toISOString(),
  machine: {
    ...{ processors: cpus().length, processor: cpus()[0]?.model, memoryBytes: totalmem() },
    ...{ system: `${type()} ${release()}`, node: process.version },
    /** The load average of the minute before the first run. */
    loadBefore: loadavg()[0],
  },
  sizes,
  functions: [] as FunctionReport[],
  runs: [] as RunReport[],
};

async function writeReport(): Promise<void> {
  if (options.out !== undefined) await writeFile(options.out, `${JSON.stringify(report)}\n`);
}

const starters: Readonly<Record<SubjectName, StartServer>> = { bare: startBare, service: startService };

/** Ctrl-C also ends the servers and removes the files. */
const endedBySignal = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => reject(new Error(`Ended by ${signal}`)));
});
// Nothing awaits it between two runs.
endedBySignal.catch(() => {});

/** Measures each server as often as requested, and adds each run to the report. */
async function measureRuns(folder: string): Promise<void> {
  // One provider for all runs: its address is in the template, so the bundles are made only once.
  const provider = await startProvider();
  try {
    const synthesis: Record<string, number> = {};
    if (subjects.includes('service') && only.includes('start')) {
      const from = performance.now();
      await synthesize(join(folder, 'assembly'), { openAiBaseUrl: provider.url });
      synthesis['bundling and synthesis, before the starts below, s'] = (performance.now() - from) / 1000;
    }
    for (let run = 1; run <= (options.quick ? 1 : options.runs); run += 1)
      // The order alternates between runs, so that no server is always the first.
      for (const subject of run % 2 === 1 ? subjects : subjects.toReversed()) {
        const log = (line: string) => console.error(`run ${run}, ${subject}: ${line}`);
        const own = join(folder, `${subject}-${run}`);
        const measured = await measureRun(subject, own, { provider, sizes, only, log });
        if (subject === 'service' && run === 1) Object.assign(measured.figures, synthesis);
        report.runs.push({ run, subject, ...measured });
        await writeReport();
      }
  } finally {
    await provider.close();
  }
}

/** Starts a server with its data in this folder, and measures it. */
async function measureRun(
  subject: SubjectName,
  folder: string,
  how: Omit<MeasureOptions, 'server'>,
): Promise<Omit<RunReport, 'run' | 'subject'>> {
  await mkdir(folder);
  const start = (): Promise<Server> => starters[subject](folder, how.provider.url);
  let server = await start();
  try {
    const starts: Record<string, number> = {};
    if (only.includes('start')) {
      starts['start to the first response, empty data folder, s'] = server.startSeconds;
      await server.close();
      server = await start();
      starts['start to the first response, data folder kept, s'] = server.startSeconds;
    }
    const { figures, errors } = await Promise.race([measureServer({ server, ...how }), endedBySignal]);
    return { figures: { ...starts, ...figures }, errors };
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string): Promise<void> {
  if (only.includes('functions') && subjects.includes('service')) {
    report.functions = await measureFunctions(sizes.functionStarts, (line) =>
      console.error(`functions: ${line}`),
    );
    const lines = report.functions.map((figures) =>
      Object.values(figures).map((value) => (typeof value === 'number' ? formatNumber(value) : value)),
    );
    console.log(`${markdownTable([Object.keys(report.functions[0] ?? {}), ...lines])}\n`);
    await writeReport();
    if (only.length === 1) return;
  }
  await measureRuns(folder);
  console.log(reportTable(report.runs));
  const errors = report.runs.flatMap((run) =>
    run.errors.map((line) => `run ${run.run}, ${run.subject}: ${line}`),
  );
  if (errors.length > 0) throw new Error(`${errors.length} errors:\n${errors.slice(0, 20).join('\n')}`);
}

const folder = await mkdtemp(join(tmpdir(), 'service-bench-'));
try {
  await measure(folder);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
