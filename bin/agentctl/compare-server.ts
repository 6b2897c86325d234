import { describeIssues } from '#contract/describe-issues.ts';
import { mcpConfig } from '#contract/tools.ts';
import { compareTools, toolsOfServer } from '#domain/tools/pin-tools.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { discoverAuthorization } from './discover-authorization.ts';
import type { CompareTools, ImportOptions } from './tool-changes.ts';

export const compareServer: CompareTools = async (address, options, written) => {
  const { workspace: workspaceId } = options;
  const systems = await remoteSystems(options.allow);
  const auth = await authOf(address, options, systems);
  const config = { ...written, url: address, ...(auth && { auth }) };
  const { data, error } = mcpConfig.partial({ tools: true }).safeParse(config, { reportInput: true });
  if (error !== undefined) throw new Error(`The entry is wrong: ${describeIssues(error.issues)}`);
  const { tools: before = [] } = data;
  // Headers with other placeholders are left out: their values are those of a chat, and a command belongs to none.
  const headers = Object.entries(data.headers)
    .map(([name, value]) => [name, value.replaceAll('{{workspace_id}}', encodeURIComponent(workspaceId))])
    .filter(([, value]) => !value?.includes('{{'));
  const { open, pool } = systems;
  const connection = open({
    ...{ workspaceId, url: new URL(address), protocol: data.protocol, auth: data.auth, pool },
    ...{ headers: Object.fromEntries(headers), timeout: data.timeout_seconds * 1000 },
  });
  const listed = await connection.list(new AbortController().signal).finally(async () => {
    await connection.close();
    pool.close();
  });
  const { protocol, server = null, instructions = null, tools } = listed;
  const prefix = options.name ?? new URL(address).hostname.split('.').at(-2) ?? 'mcp';
  const missing = options.only?.find((each) => !tools.some(({ name }) => name === each));
  if (missing !== undefined) throw new Error(`The server has no tool ${missing}`);
  const only = options.onlyPinned ? before.map(({ tool }) => tool) : options.only;
  return {
    config: { ...config, protocol },
    changes: compareTools(toolsOfServer(tools, before, { prefix, only }), before),
    about: { protocol, server, instructions },
    lines: [
      `${server ?? address} speaks ${protocol}`,
      ...(instructions === null ? [] : [`Its instructions, which are not used: ${instructions}`]),
    ],
  };
};

type Systems = Awaited<ReturnType<typeof remoteSystems>>;

async function authOf(address: string, options: ImportOptions, { http, checkTarget }: Systems) {
  const { workspace, secret, clientId } = options;
  if (secret === undefined) return undefined;
  if (clientId === undefined) return { type: 'bearer' as const, secret };
  const url = new URL(address);
  const found = await discoverAuthorization(http, url);
  if (found === undefined) throw new Error(`${address} answers without credentials: leave --client-id out`);
  const auth = { ...found, client_id: clientId, secret };
  const problem = await checkTarget(workspace, url, auth);
  if (problem !== undefined) throw new Error(problem);
  return auth;
}
