import { Command } from 'commander';
import { type AgentDefinition, agentDefinition } from '#contract/agent.ts';
import { limits } from '#contract/limits.ts';
import { type Agent, agentResource } from '#domain/agents/agent.ts';
import { createAgent } from '#domain/agents/create-agent.ts';
import { findAgent } from '#domain/agents/find-agent.ts';
import { publishAgent } from '#domain/agents/publish-agent.ts';
import { unpublishAgent } from '#domain/agents/unpublish-agent.ts';
import { updateAgent } from '#domain/agents/update-agent.ts';
import { agentStore, clock, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { describeIssues } from '#runtime/http/describe-issues.ts';
import { exitCodes } from '../failures.ts';
import { rejectUnlistedKnowledgeBases } from './bedrock-knowledge-bases.ts';
import { rejectUnlistedModel } from './bedrock-models.ts';
import { describeTest } from './describe-test.ts';
import { readJson } from './read-json.ts';
import type { Report, Result } from './result.ts';
import { textTable } from './text-table.ts';

const services = () => ({ agents: agentStore(), clock, identifiers, workspaces: workspaces() });

export function agentCommands(report: Report): Command {
  const group = new Command('agents').description(
    'Agents: a draft, and published versions that reply in chats and batches.',
  );
  group
    .command('create')
    .description('create a draft from agent.json')
    .requiredOption('--workspace <workspace>', 'the workspace of the agent')
    .requiredOption('--file <file>', 'name, description, system_prompt, llm_model, …')
    .action(report(create));
  group
    .command('update')
    .description('replace the draft by agent.json; the published version stays active')
    .argument('<agent>')
    .requiredOption('--file <file>', 'the complete new content')
    .action(report(update));
  group
    .command('publish')
    .description('publish the draft as a new version, which then replies')
    .argument('<agent>')
    .action(report(publish));
  group
    .command('unpublish')
    .description('stop the agent from replying')
    .argument('<agent>')
    .action(report(unpublish));
  group.command('get').description('show the draft').argument('<agent>').action(report(get));
  group
    .command('test')
    .description('reply to a message with the draft, in no chat: prints steps, text and usage')
    .argument('<agent>')
    .argument('<message>')
    .option('--published', 'with the published version instead of the draft')
    .addHelpText('after', testHelp)
    .action(report(test));
  group
    .command('list')
    .description('list the agents of a workspace')
    .requiredOption('--workspace <workspace>', 'the workspace of the agents')
    .action(report(list));
  return group;
}

async function create({ workspace, file }: { workspace: string; file: string }): Promise<Result> {
  const definition = await readDefinition(file, workspace);
  return resultOf(await createAgent(services())({ workspaceId: workspace, definition }));
}

async function update(agentId: string, { file }: { file: string }): Promise<Result> {
  const { workspaceId } = await findAgent(services())(agentId);
  const definition = await readDefinition(file, workspaceId);
  return resultOf(await updateAgent(services())({ agentId, definition }));
}

async function publish(agentId: string): Promise<Result> {
  const draft = await findAgent(services())(agentId);
  rejectUnlistedModel(`agent ${agentId}`, draft.definition.llm_model);
  rejectUnlistedKnowledgeBases(`agent ${agentId}`, draft.definition);
  const version = await publishAgent(services())(agentId);
  return {
    json: { agent_id: version.agentId, version: version.number, version_id: version.id },
    lines: textTable(['agent', 'version'], [[version.agentId, version.number]]),
  };
}

async function unpublish(agentId: string): Promise<Result> {
  return resultOf(await unpublishAgent(services())(agentId));
}

async function get(agentId: string): Promise<Result> {
  const resource = agentResource(await findAgent(services())(agentId));
  return { json: resource, lines: JSON.stringify(resource, null, 2).split('\n') };
}

const testHelp = `
Nothing is stored but the usage, which is counted as a test of the key "operators". The limits of the workspace apply.
The exit code is 1 if the reply ends with an error; the line "Provider" then says how the model's provider has responded.`;

async function test(agentId: string, message: string, { published }: { published?: true }): Promise<Result> {
  // A deferred import, because no other command needs the client of Lambda.
  const { testAgent } = await import('../test-agent.ts');
  const version = published === true ? 'published' : 'draft';
  const tested = await testAgent({ agent_id: agentId, message, version });
  if (tested.reply.meta.error !== undefined) process.exitCode = exitCodes.failure;
  return { json: tested, lines: describeTest(tested) };
}

async function list({ workspace }: { workspace: string }): Promise<Result> {
  const all = await agentStore().list(workspace);
  return { json: { agents: all.map(agentResource) }, lines: all.length === 0 ? ['No agents'] : tableOf(all) };
}

/**
 * Unknown fields are rejected, because a mistyped field would otherwise be ignored silently.
 * @throws Error that names the file and the wrong field
 */
async function readDefinition(file: string, workspaceId: string): Promise<AgentDefinition> {
  const parsed = agentDefinition.strict().safeParse(await readJson(file), { reportInput: true });
  if (!parsed.success) throw new Error(`${file}: ${describeIssues(parsed.error.issues, 'the file')}`);
  const bytes = Buffer.byteLength(JSON.stringify(parsed.data));
  if (bytes > limits.agentBytes)
    throw new Error(`${file}: an agent may have ${limits.agentBytes} bytes as JSON, this one has ${bytes}`);
  await rejectUnknownParts(file, workspaceId, parsed.data);
  rejectUnlistedModel(file, parsed.data.llm_model);
  rejectUnlistedKnowledgeBases(file, parsed.data);
  return parsed.data;
}

async function rejectUnknownParts(
  file: string,
  workspaceId: string,
  definition: AgentDefinition,
): Promise<void> {
  // A deferred import: it loads the SDKs of the model providers, which no other command needs.
  const { checkAgent } = await import('#runtime/composition/check-agent.ts');
  try {
    await checkAgent(workspaceId, definition);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
}

const resultOf = (agent: Agent): Result => ({
  json: { agent_id: agent.id, publish_state: agent.publishState, name: agent.definition.name },
  lines: tableOf([agent]),
});

const tableOf = (agents: readonly Agent[]): string[] =>
  textTable(
    ['agent', 'state', 'version', 'model', 'name'],
    agents.map(({ id, publishState, newestVersion, definition }) => [
      id,
      publishState,
      newestVersion === 0 ? 'none' : String(newestVersion),
      definition.llm_model,
      definition.name,
    ]),
  );
