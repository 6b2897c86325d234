import { runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from './compile-cache.ts';
import { quickTimer } from './quick-timer.ts';
import { seededRandom } from './seeded-random.ts';

/** The options of this program, as JSON in its only argument. */
export interface RunServiceOptions {
  assembly: string;
  dataDir: string;
  environment: Record<string, string>;
  seed: number;
  /** Milliseconds until all workers are killed once; with 0 they are not killed. */
  killsWorkersAfter: number;
  /** Without the faults of the runner: conflicts, throttling, duplicate messages and rejected calls. */
  isFaultless?: boolean;
}

export interface RunningService {
  url: string;
  tableName: string;
  dynamodb: string;
}

// Standard input ends when the process that started this one ends, for example if a test has timed out.
process.stdin.once('end', () => process.exit()).resume();

// Runs the service, with all faults of the runner by default, until the process is killed.
const options = JSON.parse(process.argv[2] ?? '') as RunServiceOptions;
const random = seededRandom(options.seed);
const run = await runTemplate({
  assembly: options.assembly,
  compileCacheFolder: compileCacheOf(options.assembly),
  dataDir: options.dataDir,
  port: 0,
  environment: options.environment,
  maxConcurrency: 4,
  timer: quickTimer,
  onDenied: (message) => console.error(`Access denied. ${message}`),
  ...(options.isFaultless !== true && {
    faults: {
      transactionConflicts: true,
      throttling: true,
      duplicateMessages: true,
      reject: () => random() < 1 / 20,
    },
  }),
  ...(process.env.SHOW_LOGS !== undefined && {
    onLog: ({ functionName, line }) => console.error(functionName, line),
  }),
});
if (options.killsWorkersAfter > 0)
  setTimeout(() => run.killWorkers('ProcessBatchItems'), options.killsWorkersAfter);
const running: RunningService = {
  url: run.url,
  tableName: run.outputs.DataTableName ?? '',
  dynamodb: run.endpoints.dynamodb,
};
console.log(JSON.stringify(running));
