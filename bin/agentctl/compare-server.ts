import { describeIssues } from '#contract/describe-issues.ts';
import { type McpConfig, mcpConfig } from '#contract/tools.ts';
import { compareTools, toolsOfServer } from '#domain/tools/pin-tools.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { discoverAuthorization } from './discover-authorization.ts';
import type { CompareTools, ImportOptions } from './tool-changes.ts';

/** Compares the tools of an MCP server with those of an entry. */
export const compareServer: CompareTools = async (address, options, written) => {
  const auth = await authOf(address, options);
  const config = { ...written, url: address, ...(auth && { auth }) };
  const { data, error } = mcpConfig.partial({ tools: true }).safeParse(config, { reportInput: true });
  if (error !== undefined) throw new Error(`The entry is wrong: ${describeIssues(error.issues)}`);
  const { tools: before = [] } = data;
  const { protocol, server = null, instructions = null, tools } = await listTools(data, options);
  const prefix = options.name ?? new URL(address).hostname.split('.').at(-2) ?? 'mcp';
  const only = options.onlyPinned ? before.map(({ tool }) => tool) : options.only;
  const changes = compareTools(toolsOfServer(tools, before, { prefix, only }), before);
  return {
    config: { ...config, protocol },
    ...{ before, changes },
    about: { protocol, server, instructions },
    lines: [
      `${server ?? address} speaks ${protocol}`,
      ...(instructions === null ? [] : [`Its instructions, which are not used: ${instructions}`]),
    ],
  };
};

/**
 * The `auth` of the entry by the options; undefined without `--secret`.
 * @throws Error if the server asks for no credentials or names no authorization server, or if the secret of an OAuth
 *   client is not for the hosts that get it
 */
async function authOf(address: string, { workspace, secret, clientId, allow }: ImportOptions) {
  if (secret === undefined) return undefined;
  if (clientId === undefined) return { type: 'bearer' as const, secret };
  const { http, checkTarget } = await remoteSystems(allow);
  const found = await discoverAuthorization(http, new URL(address));
  if (found === undefined) throw new Error(`${address} answers without credentials: leave --client-id out`);
  const auth = { ...found, client_id: clientId, secret };
  const problem = await checkTarget(workspace, new URL(address), auth);
  if (problem !== undefined) throw new Error(problem);
  return auth;
}

async function listTools(
  { url, protocol, auth, headers, timeout_seconds }: Omit<McpConfig, 'tools'>,
  { workspace: workspaceId, allow }: ImportOptions,
) {
  const { open, pool } = await remoteSystems(allow);
  const connection = open({
    ...{ workspaceId, url: new URL(url), protocol, auth, timeout: timeout_seconds * 1000, pool },
    // Headers with placeholders are left out: a command belongs to no chat, which has their values.
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => !value.includes('{{'))),
  });
  try {
    return await connection.list(new AbortController().signal);
  } finally {
    await connection.close();
    pool.close();
  }
}
