import { resolve } from 'node:path';
import { type RunningCommand, startProgram } from './command.ts';

const command = resolve(import.meta.dirname, '../../bin/agentctl.ts');

/** The command line of `agentctl …`, as words. */
export const agentctlWords = (...args: string[]): string[] => [process.execPath, command, ...args];

/** Runs agentctl's client commands, each in its own process. They find the service through environment variables. */
export function clientCommand({ baseUrl }: { baseUrl: string }, { apiKey }: { apiKey: string }) {
  const variables = { AGENT_SERVICE_URL: baseUrl, AGENT_SERVICE_KEY: apiKey, NO_COLOR: '1' };
  const start = (args: string[], more: Record<string, string> = {}, stdin?: 'pipe'): RunningCommand =>
    startProgram(agentctlWords(...args), { ...variables, ...more }, stdin);
  return {
    variables,
    start,
    run: (...args: string[]) => start(args).ended,
    /**
     * Returns the JSON on the last line that `--json` prints.
     * @throws Error with its stderr if the exit code is not 0
     */
    async json<ApiResponse>(...args: string[]): Promise<ApiResponse> {
      const { code, stdout, stderr } = await start([...args, '--json']).ended;
      if (code !== 0) throw new Error(`agentctl ${args.join(' ')}: ${stderr}`);
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as ApiResponse;
    },
  };
}

export type ClientCommand = ReturnType<typeof clientCommand>;
