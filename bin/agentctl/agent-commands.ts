import { Command } from 'commander';
import { type AgentDefinition, agentDefinition } from '#contract/agent.ts';
import type { PinnedTool } from '#contract/tools.ts';
import { type Agent, type AgentVersion, agentResource } from '#domain/agents/agent.ts';
import {
  createAgent,
  deleteAgent,
  findAgent,
  publishAgent,
  rollBackAgent,
  unpublishAgent,
  updateAgent,
} from '#domain/agents/agents.ts';
import { agentStore } from '#runtime/composition/services.ts';
import { operatorServices as services } from '../operator-services.ts';
import { wholeNumber } from '../whole-number.ts';
import { addAgentTest } from './agent-test-command.ts';
import { checkModels, readAgent } from './read-agent.ts';
import { operation, type Result } from './report.ts';
import { tableWith, textTable } from './text-table.ts';

export function agentCommands(): Command {
  const group = new Command('agents').description(
    'Agents: a draft, and published versions that reply in chats and batches.',
  );
  operation(group, 'create', create)
    .description('create a draft from agent.json')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent')
    .requiredOption('--file <file>', 'name, description, system_prompt, llm_model, …');
  operation(group, 'update <agent>', update)
    .description('replace the draft by agent.json; the published version stays active')
    .requiredOption('--file <file>', 'the complete new content, as agents get prints it');
  operation(group, 'publish <agent>', publish).description(
    'publish the draft as a new version, which then replies',
  );
  operation(group, 'unpublish <agent>', unpublish).description('stop the agent from replying');
  operation(group, 'get <agent>', get)
    .description('print the draft as agent.json, which agents update takes')
    .option('--of-version <number>', 'a published version instead of the draft', readNumber);
  addAgentTest(group);
  operation(group, 'list', list)
    .description('list the agents of a workspace')
    .requiredOption('--workspace <workspace>', 'the workspace of the agents');
  operation(group, 'versions <agent>', versions).description(
    'list all versions that were published, the newest first',
  );
  operation(group, 'rollback <agent>', rollBack)
    .description('publish an earlier version again, as a new version; the draft stays as it is')
    .requiredOption('--to <number>', 'the earlier version, as agents versions shows it', readNumber);
  operation(group, 'delete <agent>', deleteConfirmed)
    .description('delete an agent with its versions; its chats stay')
    .requiredOption('--confirm <name>', "the agent's name, to confirm that it is deleted for ever")
    .addHelpText('after', deleteHelp);
  return group;
}

const deleteHelp = `
Chats with the agent stay, and their histories can be read. Sending to them fails with 404 "Agent not found", as does
creating one. Requests of batches that have not started fail. If the command is stopped, run it again.`;

const readNumber = wholeNumber('the number of a version', 1, 9_999_999);

async function create({ workspace, file }: { workspace: string; file: string }): Promise<Result> {
  const definition = await readAgent(file, workspace);
  return resultOf(await createAgent(services(), { workspaceId: workspace, definition }));
}

async function update(agentId: string, { file }: { file: string }): Promise<Result> {
  const { workspaceId } = await findAgent(services(), agentId);
  const definition = await readAgent(file, workspaceId);
  return resultOf(await updateAgent(services(), { agentId, definition }));
}

async function publish(agentId: string): Promise<Result> {
  const draft = await findAgent(services(), agentId);
  await checkModels(`agent ${agentId}`, draft.definition);
  return publishedResult(await publishAgent(services(), agentId));
}

async function rollBack(agentId: string, { to }: { to: number }): Promise<Result> {
  const where = `agent ${agentId}, version ${to}`;
  const check = ({ definition }: AgentVersion) => checkModels(where, definition);
  return publishedResult(await rollBackAgent(services(), agentId, to, check));
}

function publishedResult({ agentId, number, id, definition }: AgentVersion): Result {
  const warnings = mayLeak(definition) ? [leakWarning] : [];
  return {
    json: {
      id: agentId,
      name: definition.name,
      publish_state: 'published',
      version_number: number,
      published_version_id: id,
      ...(warnings.length > 0 && { warnings }),
    },
    lines: [...textTable(['agent', 'version'], [[agentId, number]]), ...warnings],
  };
}

const leakWarning =
  'Warning: texts of others may make this agent send private data out: it reads such texts, has private data, and a tool of ' +
  'another system has the approval "never"';

function mayLeak({ unified_tools, use_search }: AgentDefinition): boolean {
  const systems = unified_tools.filter(({ config }) => Array.isArray(config?.tools));
  const hasType = (...types: string[]) => unified_tools.some(({ type }) => types.includes(type));
  const isPrivate = ({ type, config }: (typeof systems)[number]) =>
    type === 'consultant_call_function' || config?.auth !== undefined;
  const readsWeb = use_search || hasType('consultant_search_web', 'consultant_fetch_web_content');
  const readsOwn = hasType('consultant_retrieve_context_source', 'consultant_lookup');
  const tools = systems.flatMap(({ config }) => config?.tools as PinnedTool[]);
  return (
    (readsWeb || !systems.every(isPrivate)) &&
    (readsOwn || systems.some(isPrivate)) &&
    tools.some(({ approval }) => approval === 'never')
  );
}

const unpublish = async (agentId: string): Promise<Result> =>
  resultOf(await unpublishAgent(services(), agentId));

async function get(agentId: string, { ofVersion }: { ofVersion?: number }): Promise<Result> {
  const agent = await findAgent(services(), agentId);
  const definition = inOrder(
    ofVersion === undefined ? agent.definition : await definitionOf(agent, ofVersion),
  );
  return { json: definition, lines: JSON.stringify(definition, null, 2).split('\n') };
}

/** DynamoDB does not keep the order of the fields, and a person compares files. Inner fields keep theirs of DynamoDB. */
const inOrder = (definition: AgentDefinition): AgentDefinition => ({
  ...Object.fromEntries(Object.keys(agentDefinition.shape).map((name) => [name, undefined])),
  ...definition,
});

async function definitionOf({ workspaceId, id }: Agent, number: number): Promise<AgentDefinition> {
  const version = await agentStore().version(workspaceId, id, number);
  if (version === undefined) throw new Error(`The agent has no version ${number}`);
  return version.definition;
}

async function list({ workspace }: { workspace: string }): Promise<Result> {
  const all = await agentStore().list(workspace);
  return { json: { agents: all.map(agentResource) }, lines: tableOf(all, 'No agents') };
}

async function versions(agentId: string): Promise<Result> {
  const agent = await findAgent(services(), agentId);
  const found = (await Array.fromAsync(agentStore().versions(agent.workspaceId, agentId))).flat();
  const all = found.reverse().map((version) => jsonOf(version, agent));
  return { json: { agent_id: agentId, versions: all }, lines: versionTable(all, 'No versions') };
}

const versionTable = tableWith<ReturnType<typeof jsonOf>>({
  version: ({ number }) => number,
  state: ({ published }) => (published ? 'published' : ''),
  published: ({ published_at }) => published_at,
  'copy of': ({ copy_of }) => copy_of ?? '',
  model: ({ llm_model }) => llm_model,
  name: ({ name }) => name,
});

const jsonOf = ({ id, number, publishedAt, copyOf, definition }: AgentVersion, agent: Agent) => ({
  id,
  number,
  published: id === agent.publishedVersionId,
  published_at: publishedAt,
  copy_of: copyOf ?? null,
  name: definition.name,
  llm_model: definition.llm_model,
});

async function deleteConfirmed(agentId: string, { confirm }: { confirm: string }): Promise<Result> {
  await deleteAgent(services(), agentId, ({ definition }) => {
    if (confirm !== definition.name)
      throw new Error(`--confirm must be the name of the agent ${agentId}. Nothing was changed`);
  });
  return { json: { id: agentId, deleted: true }, lines: [`Deleted ${agentId}`] };
}

function resultOf(agent: Agent): Result {
  const { id, name, publish_state, version_number, published_version_id } = agentResource(agent);
  // Programs that were written for the first versions read `agent_id`.
  const json = { id, agent_id: id, name, publish_state, version_number, published_version_id };
  return { json, lines: tableOf([agent]) };
}

const tableOf = tableWith<Agent>({
  agent: ({ id }) => id,
  state: ({ publishState }) => publishState,
  version: ({ newestVersion }) => (newestVersion === 0 ? 'none' : String(newestVersion)),
  model: ({ definition }) => definition.llm_model,
  name: ({ definition }) => definition.name,
});
