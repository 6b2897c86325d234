import { runAgentctl } from '../../bin/agentctl/run-agentctl.ts';

/** A command line of agentctl, and the environment variables of its process. */
export interface AgentctlCall {
  args: string[];
  variables: NodeJS.ProcessEnv;
}

/** The end of a command. */
export interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Collects what a command writes instead of writing it. */
function collect(stream: NodeJS.WriteStream): () => string {
  let text = '';
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const written = rest.at(-1);
    if (typeof written === 'function') written();
    return true;
  };
  return () => {
    const collected = text;
    text = '';
    return collected;
  };
}

const takeOutput = collect(process.stdout);
const takeErrors = collect(process.stderr);

// Runs one command after another, each with its own environment variables, until the parent process ends.
process.on('message', async ({ args, variables }: AgentctlCall) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, variables);
  process.exitCode = undefined;
  await runAgentctl([process.execPath, 'agentctl', ...args]);
  const end: CommandEnd = { code: Number(process.exitCode ?? 0), stdout: takeOutput(), stderr: takeErrors() };
  process.send?.(end);
});
process.once('disconnect', () => process.exit());
