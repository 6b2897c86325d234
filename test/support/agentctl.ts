import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { targetResources } from '../../bin/local/connection.ts';
import { agentctlWords, jsonOf, runAgentctlCommand } from './agentctl-process.ts';
import { type RunningCommand, startProgram } from './command.ts';
import type { CommandEnd } from './serve-agentctl.ts';
import type { Service } from './service.ts';

/**
 * Runs `agentctl … --json` against a running service, the first of each command in its own process.
 * @param knowledgeBases ids of the knowledge bases that agents may use, as if the service's stage listed them
 * @param endpoints the output OpenAiEndpoints, as if the service's stage had it
 */
export function agentctlOf(
  service: Service,
  knowledgeBases: string[] = [],
  baseUrl = service.baseUrl,
  endpoints = service.run.outputs.OpenAiEndpoints,
) {
  const name = `connection-${knowledgeBases.length}-${new URL(baseUrl).port}-${endpoints?.length ?? 0}`;
  const data = join(service.dataDir, name);
  const connection = connectionOf(service, { knowledgeBases, baseUrl, endpoints });
  const written = mkdir(data, { recursive: true }).then(() =>
    writeFile(join(data, 'connection.json'), JSON.stringify(connection)),
  );
  // Not the data folder: all files that share a service share the processes.
  const target = JSON.stringify([service.run.endpoints.dynamodb, baseUrl, endpoints, knowledgeBases]);
  const run = async (...args: string[]): Promise<CommandEnd> => {
    await written;
    return runAgentctlCommand(target, [...args, '--data', data, '--json'], {});
  };
  let files = 0;
  return {
    run,
    /** Runs `agents create` with a file of this definition. The id is empty if it fails. */
    async createAgent(workspaceId: string, definition: object) {
      files += 1;
      const file = join(data, `agent-${files}.json`);
      await written;
      await writeFile(file, JSON.stringify(definition));
      const end = await run('agents', 'create', '--workspace', workspaceId, '--file', file);
      const { id = '' } = (end.code === 0 ? JSON.parse(end.stdout) : {}) as { id?: string };
      return { ...end, id, file };
    },
    /** Runs `secrets set`, and returns what it prints. */
    async setSecret(workspaceId: string, name: string, value: string, ...hosts: string[]): Promise<string> {
      await written;
      const words = ['secrets', 'set', name, '--workspace', workspaceId, '--host', ...hosts];
      const command = startProgram(agentctlWords(...words, '--data', data, '--json'), {}, 'pipe');
      command.child.stdin?.end(value);
      const { code, stdout, stderr } = await command.ended;
      if (code !== 0) throw new Error(stderr);
      return stdout + stderr;
    },
    /** The folder with the connection. */
    data,
    /** The output for a person, in lines. */
    async lines(...args: string[]): Promise<string[]> {
      await written;
      const command = [...args, '--data', data];
      const { stdout } = await runAgentctlCommand(target, command, {});
      return stdout.trimEnd().split('\n');
    },
    /** Runs it in a process of its own, which a test may end. */
    async start(...args: string[]): Promise<RunningCommand> {
      await written;
      return startProgram(agentctlWords(...args, '--data', data, '--json'));
    },
    /** @throws Error with its stderr if the exit code is not 0 */
    async json<ApiResponse>(...args: string[]): Promise<ApiResponse> {
      return jsonOf(args, await run(...args));
    },
  };
}

/** What a command finds in the data folder of a run. */
function connectionOf(
  { run: { outputs, endpoints: servers } }: Service,
  {
    knowledgeBases,
    baseUrl,
    endpoints,
  }: { knowledgeBases: string[]; baseUrl: string; endpoints: string | undefined },
) {
  const resources = Object.fromEntries(
    targetResources.flatMap(({ output, field, service: name }) => [
      [field, outputs[output]],
      [`${name}_endpoint`, servers[name]],
    ]),
  );
  return {
    base_url: baseUrl,
    pid: process.pid,
    access_key_id: operatorCredentials.accessKeyId,
    secret_access_key: operatorCredentials.secretAccessKey,
    ...resources,
    openai_endpoints: endpoints,
    tool_allow: '127.0.0.1:*',
    bedrock_models: [],
    bedrock_knowledge_bases: knowledgeBases,
    tool_functions: JSON.parse(outputs.ToolFunctions ?? '[]'),
  };
}
