import { Command, InvalidArgumentError } from 'commander';
import { httpApiConfig } from '#contract/http-api.ts';
import { type McpConfig, mcpConfig } from '#contract/tools.ts';
import { type HostAndPort, hostAndPortForm, parseHostAndPort } from '#contract/urls.ts';
import { findAgent } from '#domain/agents/agents.ts';
import type { McpConnection, McpListing } from '#domain/tools/mcp.ts';
import { type PinnedChange, pinTools } from '#domain/tools/pin-tools.ts';
import { remoteSystems } from '#runtime/composition/services.ts';
import { Mistakes } from '../failures.ts';
import { operatorServices } from '../operator-services.ts';
import { discoverAuthorization } from './discover-authorization.ts';
import { callHttpTool, changesOfDocument, httpType, importDocument } from './openapi/openapi-commands.ts';
import { operation, type Result } from './report.ts';
import { type ImportOptions, jsonOf, readAgentFile, tableOf, wordsOf } from './tool-entries.ts';

const mcpType = 'consultant_call_mcp_tool';

interface OfWorkspace {
  workspace: string;
}

export function toolCommands(): Command {
  const group = new Command('tools').description('Tools of agents that reach other systems.');
  const imported = new Command('import').description('pin the tools of a system in agent.json');
  operation(group, 'import <kind> <address>', (kind: string, address: string, options: ImportOptions) => {
    if (kind === 'openapi') return importDocument(address, options);
    if (kind === 'mcp') return importMcp(address, options);
    throw new Error(`The kind must be mcp or openapi, and not ${kind}`);
  })
    .description(imported.description())
    .requiredOption('--workspace <workspace>', 'the workspace of the agent and its secrets')
    .requiredOption('--file <file>', 'agent.json, whose entry is written or refreshed')
    .option(
      '--name <prefix>',
      'the start of the names that the model gets; by default that of the host, or api',
    )
    .option('--secret <secret>', 'the secret that is sent: as bearer token, or as the document says')
    .option(
      '--client-id <id>',
      'of an OAuth client of an MCP server, whose secret it is then: the server says where it gets tokens',
    )
    .option('--only <tools>', 'names at the server or ids of operations, with commas between them', (names) =>
      names.split(','),
    )
    .option(
      '--allow <host:port>',
      'an address that is not public and may be called all the same',
      readAllow,
      [],
    )
    .option('--base-url <url>', 'of the API, if the document has none')
    .addHelpText('after', importHelp);
  operation(group, 'check <agent>', check)
    .description('compare the pinned tools of an agent with those of its servers; exit code 1 if they differ')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent');
  operation(group, 'call <agent> <tool> <json>', call)
    .description('call a pinned tool of an agent with these arguments')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent')
    .option('--user <external_user_id>', 'the user in placeholders');
  return group;
}

const importHelp = `
The model gets exactly the words that are pinned, whatever the server says later. Read them before you publish: the
command prints all that is new or has changed. A tool that only reads (readOnlyHint, GET) gets the approval "never", another one
"always". A tool whose words have changed gets "always" until you change it in the file.`;

function readAllow(text: string, before: HostAndPort[]): HostAndPort[] {
  const parsed = parseHostAndPort(text);
  if (parsed === undefined) throw new InvalidArgumentError(`It must be ${hostAndPortForm}.`);
  return [...before, parsed];
}

async function importMcp(address: string, options: ImportOptions): Promise<Result> {
  const file = await readAgentFile<Partial<McpConfig>>(options.file);
  const previous = file.entries.find(({ type, config }) => type === mcpType && config?.url === address);
  const auth = (await authOf(address, options)) ?? previous?.config?.auth;
  const config = { ...previous?.config, url: address, ...(auth && { auth }) } as Partial<McpConfig>;
  const before = previous?.config?.tools ?? [];
  const listing = await listOf(options.workspace, configOf(config), options.allow);
  const prefix = options.name ?? new URL(address).hostname.split('.').at(-2) ?? 'mcp';
  const changes = pinTools(listing.tools, before, { prefix, only: options.only });
  const tools = changes.flatMap(({ after }) => after ?? []);
  if (tools.length === 0)
    throw new Mistakes(['The server has no tool that can be pinned', ...wordsOf(changes)]);
  const entry = { type: mcpType, config: { ...config, protocol: listing.protocol, tools } };
  await file.write(previous, entry);
  const { protocol, server = null, instructions = null } = listing;
  return {
    json: { file: options.file, protocol, server, instructions, tools: changes.map(jsonOf) },
    lines: [
      `${server ?? address} speaks ${protocol}`,
      ...(instructions === null ? [] : [`Its instructions, which are not used: ${instructions}`]),
      ...tableOf(changes),
      ...wordsOf(changes),
    ],
  };
}

/** @throws Error if the secret is not for the hosts that get it, or the server names no authorization server */
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

/** A config without tools is complete for a list. */
const configOf = (config: Partial<McpConfig>): McpConfig => {
  const unused = { name: 'unused', tool: 'unused', approval: 'always', input_schema: {} };
  const { data, error } = mcpConfig.safeParse({ ...config, tools: [unused] });
  if (data === undefined)
    throw new Error(`The entry is wrong: ${error?.issues[0]?.path.join('.')} ${error?.issues[0]?.message}`);
  return data;
};

async function connected<Value>(
  workspaceId: string,
  config: McpConfig,
  allow: readonly HostAndPort[],
  work: (connection: McpConnection) => Promise<Value>,
): Promise<Value> {
  const { open, pool } = await remoteSystems(allow);
  // A command belongs to no chat, whose values the placeholders are.
  const headers = Object.fromEntries(
    Object.entries(config.headers).filter(([, value]) => !value.includes('{{')),
  );
  const { protocol, auth, timeout_seconds: seconds } = config;
  const url = new URL(config.url);
  const connection = open({ workspaceId, url, protocol, auth, headers, timeout: seconds * 1000, pool });
  try {
    return await work(connection);
  } finally {
    await connection.close();
    pool.close();
  }
}

const listOf = (workspaceId: string, config: McpConfig, allow: readonly HostAndPort[]): Promise<McpListing> =>
  connected(workspaceId, config, allow, (connection) => connection.list(new AbortController().signal));

/** The entries of an agent's published version, or of its draft if it has none. */
async function entriesOf(agentId: string, workspaceId: string) {
  const { agents } = operatorServices();
  const agent = await findAgent({ agents }, agentId);
  if (agent.workspaceId !== workspaceId) throw new Error(`The agent ${agentId} is in another workspace`);
  const { definition } = (await agents.published(workspaceId, agentId)) ?? agent;
  const { unified_tools: entries } = definition;
  const configsOf = (wanted: string) =>
    entries.filter(({ type }) => type === wanted).map(({ config }) => config);
  return {
    servers: configsOf(mcpType).map((config) => mcpConfig.parse(config)),
    apis: configsOf(httpType).map((config) => httpApiConfig.parse(config)),
  };
}

async function check(agentId: string, { workspace }: OfWorkspace): Promise<Result> {
  const { servers, apis } = await entriesOf(agentId, workspace);
  const changes: PinnedChange[] = [];
  for (const config of servers) {
    const { tools } = await listOf(workspace, config, []);
    const only = config.tools.map(({ tool }) => tool);
    changes.push(...pinTools(tools, config.tools, { prefix: '', only }));
  }
  for (const config of apis) changes.push(...(await changesOfDocument(workspace, config)));
  const count = [...servers, ...apis].reduce((sum, { tools }) => sum + tools.length, 0);
  const drifted = changes.filter(({ state }) => state !== 'same');
  if (drifted.length > 0) throw new Mistakes([...tableOf(drifted), ...wordsOf(drifted)]);
  return {
    json: { agent_id: agentId, tools: count, changed: [] },
    lines: [`${count} tools are as they are pinned`],
  };
}

async function call(
  agentId: string,
  name: string,
  json: string,
  { workspace, user }: OfWorkspace & { user?: string },
): Promise<Result> {
  const { servers, apis } = await entriesOf(agentId, workspace);
  const hasTool = ({ tools }: { tools: readonly { name: string }[] }) =>
    tools.some((tool) => tool.name === name);
  const api = apis.find(hasTool);
  if (api !== undefined) return callHttpTool(api, name, JSON.parse(json), { workspaceId: workspace, user });
  const config = servers.find(hasTool);
  const pinned = config?.tools.find((tool) => tool.name === name);
  if (config === undefined || pinned === undefined)
    throw new Error(`The agent has no tool ${name} of another system`);
  const { tool, input_schema: schema, parameter_headers: parameterHeaders = {} } = pinned;
  const args = JSON.parse(json) as Record<string, unknown>;
  const { signal } = new AbortController();
  const result = await connected(workspace, config, [], (connection) =>
    connection.call({ tool, args, schema, parameterHeaders }, signal),
  );
  return { json: result, lines: JSON.stringify(result, null, 2).split('\n') };
}
