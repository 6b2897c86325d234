import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startProgram } from './command.ts';
import type { AgentctlCall, CommandEnd } from './serve-agentctl.ts';

const command = resolve(import.meta.dirname, '../../bin/agentctl.js');

/** The command line of `agentctl …`, as words. */
export const agentctlWords = (...args: string[]): string[] => [process.execPath, command, ...args];

/**
 * Runs `agentctl … --json` in a process of its own, on a data folder that a service uses.
 * @throws Error with its stderr if the exit code is not 0
 */
export async function runOn<Result>(data: string, ...args: string[]): Promise<Result> {
  const words = [...args, '--data', data, '--json'];
  return jsonOf(args, await startProgram(agentctlWords(...words)).ended);
}

/**
 * The JSON on the last line that a command has printed.
 * @throws Error with its stderr if the exit code is not 0
 */
export function jsonOf<Result>(args: readonly string[], { code, stdout, stderr }: CommandEnd): Result {
  if (code !== 0) throw new Error(`agentctl ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Result;
}

/** A process that serves commands one after another. */
interface Host {
  target: string;
  child: ChildProcess;
}

/** The idle processes, which the test files of a worker share, from the one that was used first. */
declare global {
  var idleAgentctlProcesses: Host[] | undefined;
}
globalThis.idleAgentctlProcesses ??= [];
const idle = globalThis.idleAgentctlProcesses;

/** More would need too much memory: most are of test files that have ended. */
const MAX_IDLE_OF_OTHER_TARGETS = 2;

/**
 * Runs `agentctl …` and returns its end. The first call of a command in a run of the tests is a process of its own, as
 * a person starts it. The other calls share processes, because a start takes longer than most commands.
 * @param target what the command connects to; a process serves one target, because its clients of AWS remain
 */
export async function runAgentctlCommand(
  target: string,
  args: string[],
  variables: Record<string, string>,
): Promise<CommandEnd> {
  const [group = '', name = ''] = args;
  if (isFirstOfRun(`${group} ${name}`)) return startProgram(agentctlWords(...args), variables).ended;
  const host = takeHost(target);
  const { AWS_ENDPOINT_URL_DYNAMODB: _, ...inherited } = process.env;
  host.child.send({ args, variables: { ...inherited, ...variables } } satisfies AgentctlCall);
  const waiting = new AbortController();
  const exit = once(host.child, 'exit', { signal: waiting.signal }).then(() => {
    throw new Error(`agentctl ${args.join(' ')} ended its process`);
  });
  exit.catch(() => {});
  const [end] = (await Promise.race([once(host.child, 'message'), exit])) as [CommandEnd];
  waiting.abort();
  idle.push(host);
  return end;
}

/** All workers of the run note their commands in one folder. */
function isFirstOfRun(command: string): boolean {
  const note = join(process.env.STARTED_COMMANDS ?? '', encodeURIComponent(command));
  try {
    writeFileSync(note, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (existsSync(note)) return false;
    throw error;
  }
}

/** Takes an idle process of the target, or starts one. */
function takeHost(target: string): Host {
  const index = idle.findIndex((host) => host.target === target);
  const [host] = index < 0 ? [] : idle.splice(index, 1);
  if (host !== undefined) return host;
  for (const other of idle.splice(0, Math.max(idle.length - MAX_IDLE_OF_OTHER_TARGETS, 0)))
    other.child.disconnect();
  const child = fork(join(import.meta.dirname, 'serve-agentctl.ts'), {
    stdio: 'ignore',
    // A failed command leaves its files open until its process ends. Node.js would warn when it collects them.
    execArgv: ['--no-warnings'],
  });
  child.unref();
  child.channel?.unref();
  return { target, child };
}
