import { runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from './compile-cache.ts';
import { quickTimer } from './quick-timer.ts';

/** The options of this program, as JSON in its only argument. */
export interface RunServiceOptions {
  assembly: string;
  dataDir: string;
  environment: Record<string, string>;
}

export interface RunningService {
  url: string;
  tableName: string;
  dynamodb: string;
}

// Standard input ends when the process that started this one ends, for example if a test has timed out.
process.stdin.once('end', () => process.exit()).resume();

// Runs the service until the process is killed.
const options = JSON.parse(process.argv[2] ?? '') as RunServiceOptions;
const run = await runTemplate({
  assembly: options.assembly,
  compileCacheFolder: compileCacheOf(options.assembly),
  dataDir: options.dataDir,
  port: 0,
  environment: options.environment,
  maxConcurrency: 4,
  timer: quickTimer,
  onDenied: (message) => console.error(`Access denied. ${message}`),
  ...(process.env.SHOW_LOGS !== undefined && {
    onLog: ({ functionName, line }) => console.error(functionName, line),
  }),
});
const running: RunningService = {
  url: run.url,
  tableName: run.outputs.DataTableName ?? '',
  dynamodb: run.endpoints.dynamodb,
};
console.log(JSON.stringify(running));
