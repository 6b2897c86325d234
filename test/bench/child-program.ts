import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';

/** How long a program may take to report that it is ready, and how long to end. */
const readySeconds = 60;
const endSeconds = 15;

/**
 * Starts a program of this folder. It prints where it listens as one line of JSON, and ends when its standard input
 * ends, so it never outlives the process that started it.
 */
export async function startProgram<Ready>(
  file: string,
  options: Record<string, unknown>,
): Promise<{ child: ChildProcess; ready: Ready }> {
  const child = spawn(process.execPath, [file, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const signal = AbortSignal.timeout(readySeconds * 1000);
  const [line] = (await Promise.race([
    once(lines, 'line', { signal }),
    once(child, 'exit').then(() => {
      throw new Error(`${file} ended with code ${child.exitCode} before it was ready`);
    }),
  ])) as [string];
  return { child, ready: JSON.parse(line) as Ready };
}

/** Ends a child process with SIGTERM, and after 15 s with SIGKILL. */
export async function endChild(child: ChildProcess): Promise<void> {
  const ended = hasEnded(child) ? Promise.resolve() : once(child, 'exit');
  child.stdin?.end();
  child.kill('SIGTERM');
  const stop = new AbortController();
  const timeout = after(endSeconds * 1000, undefined, { signal: stop.signal }).then(
    () => child.kill('SIGKILL'),
    () => {},
  );
  await ended;
  stop.abort();
  await timeout;
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** For the child programs: ends the process when its standard input ends. */
export function endWithInput(): void {
  process.stdin.on('end', () => process.exit(0)).resume();
}
