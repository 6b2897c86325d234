import { createInterface } from 'node:readline';
import { type RunOptions, runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from '../compile-cache.ts';
import { timerOfAtMost } from '../quick-timer.ts';

/** The options of this program, as JSON in its only argument. */
export type SoakServiceOptions = Pick<RunOptions, 'assembly' | 'dataDir' | 'environment' | 'maxConcurrency'>;

/** A line on this program's standard input. The program responds to each with a `SoakState` in one line. */
export type SoakCommand = { kill: string } | { check: true };
export interface SoakState {
  /** Bytes in use of the runner's own heap, without the threads of emulators and functions. */
  heap: number;
  violations: string[];
}

/** Runs the reconciler every 2 s, so that work that a kill has interrupted does not wait for minutes. */
const quickTimer = timerOfAtMost(() => 2000);

const options = JSON.parse(process.argv[2] ?? '') as SoakServiceOptions;
const run = await runTemplate({
  ...options,
  compileCacheFolder: compileCacheOf(options.assembly),
  port: 0,
  timer: quickTimer,
  redeliverySeconds: 3,
  ...(process.env.SHOW_LOGS !== undefined && {
    onLog: ({ functionName, line }) => console.error(functionName, line),
  }),
});
const { url, outputs, endpoints, physicalIds } = run;
console.log(JSON.stringify({ url, outputs, endpoints, physicalIds }));

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as SoakCommand;
  if ('kill' in command) run.killWorkers(command.kill);
  // Without a collection, the heap would include minutes of garbage.
  globalThis.gc?.();
  const state: SoakState = {
    heap: process.memoryUsage().heapUsed,
    violations: run.violations(),
  };
  console.log(JSON.stringify(state));
}
// The standard input has ended, so the program ends too.
await run.close();
process.exit(0);
