import { agentctlWords, jsonOf, runAgentctlCommand } from './agentctl-process.ts';
import { type RunningCommand, startProgram } from './command.ts';

/**
 * Runs agentctl's client commands, which find the service through environment variables. `start` gives each command its
 * own process, `run` and `json` the first of each kind.
 * @param others further environment variables
 */
export function clientCommand(
  { baseUrl }: { baseUrl: string },
  { apiKey }: { apiKey: string },
  others: Record<string, string> = {},
) {
  const variables = { AGENT_SERVICE_URL: baseUrl, AGENT_SERVICE_KEY: apiKey, NO_COLOR: '1', ...others };
  const start = (args: string[], more: Record<string, string> = {}, stdin?: 'pipe'): RunningCommand =>
    startProgram(agentctlWords(...args), { ...variables, ...more }, stdin);
  const run = (...args: string[]) => runAgentctlCommand('a service', args, variables);
  return {
    variables,
    start,
    run,
    /**
     * Returns the JSON on the last line that `--json` prints.
     * @throws Error with its stderr if the exit code is not 0
     */
    json: async <ApiResponse>(...args: string[]): Promise<ApiResponse> =>
      jsonOf(args, await run(...args, '--json')),
  };
}

export type ClientCommand = ReturnType<typeof clientCommand>;
