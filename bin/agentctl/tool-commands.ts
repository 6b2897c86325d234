import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { PinnedTool } from '#contract/tools.ts';
import { type HostAndPort, hostAndPortForm, parseHostAndPort } from '#contract/urls.ts';
import { findAgent } from '#domain/agents/agents.ts';
import type { PinnedChange } from '#domain/tools/pin-tools.ts';
import { Mistakes, UsageError } from '../failures.ts';
import { operatorServices } from '../operator-services.ts';
import { compareServer } from './compare-server.ts';
import { compareDocument } from './openapi/import-openapi.ts';
import { readJson } from './read-json.ts';
import { operation, type Result } from './report.ts';
import { type CompareTools, type ImportOptions, tableOf, wordsOf } from './tool-changes.ts';

/** `field` is the field of an entry's `config` that says where a system describes its tools. */
const kinds: { name: string; type: string; field: string; compare: CompareTools }[] = [
  { name: 'mcp', type: 'consultant_call_mcp_tool', field: 'url', compare: compareServer },
  { name: 'openapi', type: 'consultant_call_http_api', field: 'document', compare: compareDocument },
];

export function toolCommands(): Command {
  const group = new Command('tools').description('Tools of agents that reach other systems.');
  operation(group, 'import <kind> <address>', importTools)
    .description('pin the tools of a system in agent.json')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent and its secrets')
    .requiredOption('--file <file>', 'agent.json, whose entry is written or refreshed')
    .option('--name <prefix>', 'the start of the names for the model; default: that of the host, or api')
    .option('--secret <secret>', 'the secret that is sent: as bearer token, or as the document says')
    .option('--client-id <id>', 'of an OAuth client, whose secret it is; the server says where tokens are')
    .option('--only <tools>', 'names at the server or ids of operations, with commas', splitAtCommas)
    .option('--allow <host:port>', 'an address that is not public and may be called', readAllow, [])
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

const splitAtCommas = (text: string): string[] => text.split(',');

function readAllow(text: string, before: HostAndPort[]): HostAndPort[] {
  const parsed = parseHostAndPort(text);
  if (parsed === undefined) throw new InvalidArgumentError(`It must be ${hostAndPortForm}.`);
  return [...before, parsed];
}

interface Options {
  workspace: string;
  user?: string;
}

interface AgentFile {
  unified_tools?: { type?: string; config?: Record<string, unknown> }[];
}

async function importTools(
  name: string,
  address: string,
  options: ImportOptions & { file: string },
): Promise<Result> {
  const kind = kinds.find((each) => each.name === name);
  if (kind === undefined) throw new Error(`The kind must be mcp or openapi, and not ${name}`);
  const { file } = options;
  const written = (await readJson(file)) as AgentFile;
  const entries = written.unified_tools ?? [];
  const previous = entries.find(({ type, config }) => type === kind.type && config?.[kind.field] === address);
  const { config, changes, about, lines } = await kind.compare(address, options, previous?.config);
  if (!changes.some(({ after }) => after !== undefined))
    throw new Mistakes(['There is no tool that can be pinned', ...wordsOf(changes)]);
  const pinned = (previous?.config?.tools ?? []) as readonly PinnedTool[];
  // A tool that has not changed stays as it is written.
  const tools = changes.flatMap(({ name, state, after }) =>
    state === 'same' ? pinned.filter((tool) => tool.name === name) : (after ?? []),
  );
  const entry = { ...previous, type: kind.type, config: { ...config, tools } };
  const unified_tools = previous ? entries.with(entries.indexOf(previous), entry) : [...entries, entry];
  await writeFile(file, `${JSON.stringify({ ...written, unified_tools }, null, 2)}\n`);
  const shown = changes.map(({ name, state, after, notes }) => {
    return { name, approval: after?.approval ?? null, state, notes };
  });
  const json = { file, ...about, tools: shown };
  return { json, lines: [...lines, ...tableOf(changes), ...wordsOf(changes)] };
}

async function definitionOf(agentId: string, workspaceId: string) {
  const { agents } = operatorServices();
  const agent = await findAgent({ agents }, agentId);
  if (agent.workspaceId !== workspaceId) throw new Error(`The agent ${agentId} is in another workspace`);
  return ((await agents.published(workspaceId, agentId)) ?? agent).definition;
}

async function check(agentId: string, { workspace }: Options): Promise<Result> {
  const changes: PinnedChange[] = [];
  for (const { type, config = {} } of (await definitionOf(agentId, workspace)).unified_tools) {
    const kind = kinds.find((each) => each.type === type);
    if (kind === undefined) continue;
    const { [kind.field]: address } = config;
    if (typeof address !== 'string') throw new Error(`An entry has no ${kind.field} to compare with`);
    const compared = await kind.compare(address, { workspace, allow: [], onlyPinned: true }, config);
    changes.push(...compared.changes);
  }
  const drifted = changes.filter(({ state }) => state !== 'same');
  if (drifted.length > 0) throw new Mistakes([...tableOf(drifted), ...wordsOf(drifted)]);
  const json = { agent_id: agentId, tools: changes.length, changed: [] };
  return { json, lines: [`${changes.length} tools are as they are pinned`] };
}

async function call(id: string, name: string, json: string, { workspace, user }: Options): Promise<Result> {
  // A deferred import: most commands do not need it.
  const { useRemoteTool } = await import('#runtime/composition/check-agent.ts');
  const definition = await definitionOf(id, workspace);
  const of = { agentId: id, workspace, user };
  const result = await useRemoteTool(definition, name, argumentsIn(json), of);
  return { json: result, lines: JSON.stringify(result, null, 2).split('\n') };
}

function argumentsIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`The arguments of the tool must be JSON, such as '{"id":7}': ${json}`);
  }
}
