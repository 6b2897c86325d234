import { createInterface } from 'node:readline';
import { runTemplate } from '#local/run-template.ts';
import type { Timer } from '#local/schedules/timer.ts';

/** What the process is told, as JSON in its one argument. */
export interface SoakServiceOptions {
  assembly: string;
  dataDir: string;
  environment: Record<string, string>;
  /** Threads of a function; the runner's own unless given. */
  maxConcurrency?: number;
}

/** A line that it is sent, and one that it answers with. */
export type SoakCommand = { kill: string } | { check: true };
export interface SoakState {
  /** Of the last kill: how many threads. */
  killed: number;
  threads: number;
  /** Bytes of the runner's own heap that are in use, its engines' and functions' threads not included. */
  heap: number;
  violations: string[];
}

/** Reconciles every two seconds, so that what a kill has left does not wait for five minutes. */
const impatientTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, Math.min(milliseconds, 2000));
    return () => clearTimeout(timeout);
  },
};

const options = JSON.parse(process.argv[2] ?? '') as SoakServiceOptions;
const run = await runTemplate({
  ...options,
  port: 0,
  timer: impatientTimer,
  redeliverySeconds: 3,
  ...(process.env.SHOW_LOGS !== undefined && {
    onLog: ({ functionName, line }) => console.error(functionName, line),
  }),
});
const { url, outputs, endpoints, physicalIds } = run;
console.log(JSON.stringify({ url, outputs, endpoints, physicalIds }));

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as SoakCommand;
  const killed = 'kill' in command ? run.killWorkers(command.kill) : 0;
  // Without it, minutes of garbage would be measured.
  globalThis.gc?.();
  const state: SoakState = {
    killed,
    threads: run.workers().length,
    heap: process.memoryUsage().heapUsed,
    violations: run.violations(),
  };
  console.log(JSON.stringify(state));
}
// Its input has ended: so does it.
await run.close();
process.exit(0);
