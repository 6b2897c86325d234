import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { diffLines } from 'diff';
import { type McpConfig, mcpConfig } from '#contract/tools.ts';
import { type HostAndPort, hostAndPortForm, parseHostAndPort } from '#contract/urls.ts';
import { findAgent } from '#domain/agents/agents.ts';
import type { McpConnection, McpListing } from '#domain/tools/mcp.ts';
import { type PinnedChange, pinTools } from '#domain/tools/pin-tools.ts';
import { mcpServers } from '#runtime/composition/services.ts';
import { Mistakes } from '../failures.ts';
import { operatorServices } from '../operator-services.ts';
import { readJson } from './read-json.ts';
import { operation, type Result } from './report.ts';
import { textTable } from './text-table.ts';

const mcpType = 'consultant_call_mcp_tool';

interface ImportOptions {
  workspace: string;
  file: string;
  name?: string;
  secret?: string;
  only?: string[];
  allow: HostAndPort[];
}

export function toolCommands(): Command {
  const group = new Command('tools').description('Tools of agents that reach other systems.');
  const imported = new Command('import').description('pin the tools of a system in agent.json');
  operation(group, 'import <kind> <address>', (kind: string, address: string, options: ImportOptions) => {
    if (kind !== 'mcp') throw new Error(`The kind must be mcp, and not ${kind}`);
    return importMcp(address, options);
  })
    .description(imported.description())
    .requiredOption('--workspace <workspace>', 'the workspace of the agent and its secrets')
    .requiredOption('--file <file>', 'agent.json, whose entry is written or refreshed')
    .option('--name <prefix>', 'the start of the names that the model gets; by default that of the host')
    .option('--secret <secret>', 'the secret that is sent as bearer token')
    .option('--only <tools>', 'names at the server, with commas between them', (names) => names.split(','))
    .option(
      '--allow <host:port>',
      'an address that is not public and may be called all the same',
      readAllow,
      [],
    )
    .addHelpText('after', importHelp);
  operation(group, 'check <agent>', check)
    .description('compare the pinned tools of an agent with those of its servers; exit code 1 if they differ')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent');
  operation(group, 'call <agent> <tool> <json>', call)
    .description('call a pinned tool of an agent with these arguments')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent');
  return group;
}

const importHelp = `
The model gets exactly the words that are pinned, whatever the server says later. Read them before you publish: the
command prints all that is new or has changed. A tool that only reads (readOnlyHint) gets the approval "never", another one
"always". A tool whose words have changed gets "always" until you change it in the file.`;

function readAllow(text: string, before: HostAndPort[]): HostAndPort[] {
  const parsed = parseHostAndPort(text);
  if (parsed === undefined) throw new InvalidArgumentError(`It must be ${hostAndPortForm}.`);
  return [...before, parsed];
}

interface AgentFile {
  unified_tools?: { type?: string; config?: Partial<McpConfig> }[];
}

async function importMcp(address: string, options: ImportOptions): Promise<Result> {
  const file = (await readJson(options.file)) as AgentFile;
  const entries = file.unified_tools ?? [];
  const previous = entries.find(({ type, config }) => type === mcpType && config?.url === address);
  const auth =
    options.secret === undefined ? previous?.config?.auth : { type: 'bearer', secret: options.secret };
  const config = { ...previous?.config, url: address, ...(auth && { auth }) } as Partial<McpConfig>;
  const before = previous?.config?.tools ?? [];
  const listing = await listOf(options.workspace, configOf(config), options.allow);
  const prefix = options.name ?? new URL(address).hostname.split('.').at(-2) ?? 'mcp';
  const changes = pinTools(listing.tools, before, { prefix, only: options.only });
  const tools = changes.flatMap(({ after }) => after ?? []);
  if (tools.length === 0)
    throw new Mistakes(['The server has no tool that can be pinned', ...wordsOf(changes)]);
  const entry = { type: mcpType, config: { ...config, protocol: listing.protocol, tools } };
  const unified_tools = previous
    ? entries.map((each) => (each === previous ? entry : each))
    : [...entries, entry];
  await writeFile(options.file, `${JSON.stringify({ ...file, unified_tools }, null, 2)}\n`);
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
  const { open, pool } = await mcpServers(allow);
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

/** The MCP entries of an agent's published version, or of its draft if it has none. */
async function entriesOf(agentId: string, workspaceId: string): Promise<McpConfig[]> {
  const { agents } = operatorServices();
  const agent = await findAgent({ agents }, agentId);
  if (agent.workspaceId !== workspaceId) throw new Error(`The agent ${agentId} is in another workspace`);
  const { definition } = (await agents.published(workspaceId, agentId)) ?? agent;
  return definition.unified_tools
    .filter(({ type }) => type === mcpType)
    .map(({ config }) => mcpConfig.parse(config));
}

async function check(agentId: string, { workspace }: { workspace: string }): Promise<Result> {
  const drifted: PinnedChange[] = [];
  let count = 0;
  for (const config of await entriesOf(agentId, workspace)) {
    const { tools } = await listOf(workspace, config, []);
    const only = config.tools.map(({ tool }) => tool);
    count += only.length;
    drifted.push(
      ...pinTools(tools, config.tools, { prefix: '', only }).filter(({ state }) => state !== 'same'),
    );
  }
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
  { workspace }: { workspace: string },
): Promise<Result> {
  const configs = await entriesOf(agentId, workspace);
  const config = configs.find(({ tools }) => tools.some((tool) => tool.name === name));
  const pinned = config?.tools.find((tool) => tool.name === name);
  if (config === undefined || pinned === undefined) throw new Error(`The agent has no MCP tool ${name}`);
  const { tool, input_schema: schema, parameter_headers: parameterHeaders = {} } = pinned;
  const args = JSON.parse(json) as Record<string, unknown>;
  const { signal } = new AbortController();
  const result = await connected(workspace, config, [], (connection) =>
    connection.call({ tool, args, schema, parameterHeaders }, signal),
  );
  return { json: result, lines: JSON.stringify(result, null, 2).split('\n') };
}

const jsonOf = ({ name, approval, state, notes }: PinnedChange) => ({ name, approval, state, notes });

const tableOf = (changes: readonly PinnedChange[]): string[] =>
  textTable(
    ['tool', 'approval', 'state'],
    changes.map(({ name, approval, state }) => [name, approval ?? '', state]),
  );

/** Every word that has changed. */
const wordsOf = (changes: readonly PinnedChange[]): string[] =>
  changes
    .filter(({ state }) => state !== 'same')
    .flatMap(({ name, before, after, notes }) => [
      `${name}:`,
      ...notes.map((note) => `  ! ${note}`),
      ...diffLines(readable(before), readable(after))
        .filter(({ added, removed }) => added || removed)
        .flatMap(({ added, value }) =>
          value
            .trimEnd()
            .split('\n')
            .map((line) => `  ${added ? '+' : '-'} ${line}`),
        ),
    ]);

const readable = (pinned: PinnedChange['after']): string =>
  pinned === undefined ? '' : `${pinned.description}\n${JSON.stringify(pinned.input_schema, null, 2)}\n`;
