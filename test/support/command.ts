import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Connection } from '../../bin/local/connection.ts';

const root = resolve(import.meta.dirname, '../..');
const command = resolve(root, 'bin/local.js');

/** The credentials of this process's operator, for all runs that it starts: so this process can read their tables. */
const ownCredentials = `${operatorCredentials.accessKeyId}:${operatorCredentials.secretAccessKey}`;

/** Runs what `npm start -- …` runs, in its own process and without npm. */
export const startCommand = (args: string[], variables: Record<string, string> = {}): RunningCommand =>
  startProgram([process.execPath, command, ...args], variables);

/** Starts `npm start` on a data folder, and waits until it runs. */
export async function startOn(data: string, args: string[] = [], variables: Record<string, string> = {}) {
  const command = startCommand(['--port', '0', '--data', data, ...args], variables);
  await command.printed('Ctrl-C ends it.');
  const connection = JSON.parse(await readFile(join(data, 'connection.json'), 'utf8')) as Connection;
  return { command, connection };
}

/**
 * Runs `npm start -- …` as a person types it: through npm, in its own process group, as a terminal creates one. The
 * output includes npm's own lines.
 */
export const startByNpm = (args: string[]): RunningCommand =>
  startProgram(['npm', '--loglevel=silent', 'start', '--', ...args], {}, 'ignore', true);

/** Runs a program in its own process. Its standard input is empty unless `stdin` is `pipe`. */
export function startProgram(
  [program = '', ...args]: string[],
  variables: Record<string, string> = {},
  stdin: 'pipe' | 'ignore' = 'ignore',
  isGroup = false,
) {
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...inherited } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    detached: isGroup,
    env: { ...inherited, LOCAL_OPERATOR_CREDENTIALS: ownCredentials, ...variables },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let check = () => {};
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    check();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  type End = Record<'stdout' | 'stderr', string> & { code: number | null; signal: string | null };
  const ended = new Promise<End>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    /** Resolves when the process has ended and its output is complete. */
    ended,
    /** Kills it, and waits for its end. */
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
    /** Standard output so far. */
    output: () => stdout,
    errors: () => stderr,
    /** Resolves when the standard output contains the text; rejects if the process ends before. */
    async printed(text: string): Promise<void> {
      const { promise, resolve: seen } = Promise.withResolvers<void>();
      check = () => {
        if (stdout.includes(text)) seen();
      };
      check();
      const end = ended.then(() => {
        if (!stdout.includes(text)) throw new Error(`It ended without ${text}:\n${stdout}${stderr}`);
      });
      await Promise.race([promise, end]);
    },
  };
}

export type RunningCommand = ReturnType<typeof startProgram>;

/** Command lines of other processes that contain a folder's path. Those of a run contain its data folder. */
export async function processesNaming(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')),
  );
  return lines.map((words) => words.join(' ')).filter((line) => line.includes(folder));
}
