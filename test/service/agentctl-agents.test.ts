import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { type AgentResource, agentDefinition } from '#contract/agent.ts';
import { limits } from '#contract/limits.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { runAgentctlCommand } from '#support/agentctl-process.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';
import { checkedAgent, useListed } from '../../bin/agentctl/read-agent.ts';

const service = await useService();
const tenant = await openTenant(service);
const { workspaceId, agentId, client } = tenant;
const agentctl = agentctlOf(service);
const folder = await temporaryFolder('agentctl-agents-');

interface Summary {
  id: string;
  name: string;
  publish_state: string;
  version_number: number | null;
  published_version_id: string | null;
}

async function fileOf(content: unknown): Promise<string> {
  const file = join(folder, 'agent.json');
  await writeFile(file, JSON.stringify(content));
  return file;
}

const create = async (content: object): Promise<Summary> =>
  agentctl.json('agents', 'create', '--workspace', workspaceId, '--file', await fileOf(content));
const update = async (id: string, content: unknown): Promise<Summary> =>
  agentctl.json('agents', 'update', id, '--file', await fileOf(content));

/** Every field that an agent may have. */
const full = {
  name: 'Guide',
  description: 'Knows the harbour',
  agent_type: 'consultant',
  system_prompt: 'You are a guide.\nAnswer in one paragraph.',
  llm_model: 'openai:gpt-5-mini',
  unified_tools: [
    { type: 'consultant_retrieve_context_source' },
    { type: 'consultant_fetch_web_content', name: 'read', config: { max_characters: 10_000 } },
    {
      type: 'consultant_call_agent',
      name: 'ask_captain',
      description: 'Ask the captain',
      config: { agent_id: agentId },
    },
  ],
  suggested_questions: ['When does the ferry leave?'],
  use_search: true,
  meta: { temperature: 0.2, max_steps: 6, team: { name: 'blue', ids: [1, null] } },
};

it('prints an agent as it takes one', async () => {
  const created = await create(full);
  expect(created).toEqual({
    ...{ id: expect.any(String), agent_id: created.id, name: 'Guide', publish_state: 'draft' },
    ...{ version_number: null, published_version_id: null },
  });
  const printed = await agentctl.json('agents', 'get', created.id);
  expect(printed).toEqual(full);
  // An agent with the tool for forms has no schema.
  const { output_schema: _, ...shape } = agentDefinition.shape;
  expect(Object.keys(printed as object)).toEqual(Object.keys(shape));
  await update(created.id, { name: 'Other' });
  expect(await agentctl.json('agents', 'get', created.id)).not.toEqual(full);
  expect(await update(created.id, printed)).toEqual(created);
  expect(await agentctl.json('agents', 'get', created.id)).toEqual(full);
  // Without --json it is the same, in lines.
  expect(JSON.parse((await agentctl.lines('agents', 'get', created.id)).join('\n'))).toEqual(full);
});

it('shows the versions of an agent, and publishes an earlier one again', async () => {
  const { id } = await create({ name: 'One' });
  const versions = async () => agentctl.json<{ versions: unknown[] }>('agents', 'versions', id);
  expect(await versions()).toEqual({ agent_id: id, versions: [] });
  expect((await agentctl.run('agents', 'rollback', id, '--to', '1')).stderr).toBe(
    'The agent has no version 1\n',
  );
  await agentctl.json('agents', 'publish', id);
  await update(id, { name: 'Two' });
  const second = await agentctl.json<Summary>('agents', 'publish', id);
  await update(id, { name: 'Draft' });
  const rolledBack = await agentctl.json<Summary>('agents', 'rollback', id, '--to', '1');
  expect(rolledBack).toMatchObject({ id, name: 'One', publish_state: 'published', version_number: 3 });
  const listed = dataOf(await client.get<AgentResource[]>('/chats/published-agents'));
  expect(listed.find((agent) => agent.id === id)).toMatchObject({
    ...{ name: 'One', version_number: 3, published_version_id: rolledBack.published_version_id },
  });
  expect(await agentctl.json('agents', 'get', id)).toMatchObject({ name: 'Draft' });
  expect(await agentctl.json('agents', 'get', id, '--of-version', '2')).toMatchObject({ name: 'Two' });
  expect((await versions()).versions).toMatchObject([
    { id: rolledBack.published_version_id, number: 3, name: 'One', copy_of: 1, published: true },
    { id: second.published_version_id, number: 2, name: 'Two', copy_of: null, published: false },
    { number: 1, name: 'One', copy_of: null, published: false },
  ]);
  const [titles, newest] = await agentctl.lines('agents', 'versions', id);
  expect(titles).toMatch(/^version +state +published +copy of +model +name$/);
  expect(newest).toMatch(/^ +3 +published +\S+ +1 +demo +One$/);
  for (const [to, problem] of [
    ['3', 'Version 3 is the published one'],
    ['4', 'The agent has no version 4'],
    ['0', "error: option '--to <number>' argument '0' is invalid. It must be the number of a version"],
  ] as const)
    expect((await agentctl.run('agents', 'rollback', id, '--to', to)).stderr).toContain(problem);
  expect((await agentctl.run('agents', 'get', id, '--of-version', '4')).code).toBe(1);
  // It publishes an agent that is not published.
  await agentctl.json('agents', 'unpublish', id);
  expect(await agentctl.json('agents', 'rollback', id, '--to', '3')).toMatchObject({ version_number: 4 });
});

it('deletes an agent for ever, while its chats can be read', async () => {
  const { id } = await create({ name: 'Gone' });
  await agentctl.json('agents', 'publish', id);
  const chat = await tenant.createChat({ agent_id: id });
  dataOf(await tenant.send(chat));
  const remove = (...confirm: string[]) => agentctl.run('agents', 'delete', id, ...confirm);
  expect(await remove('--confirm', 'gone')).toMatchObject(
    ended(1, `--confirm must be the name of the agent ${id}. Nothing was changed\n`),
  );
  expect((await tenant.send(chat)).status).toBe(200);
  expect(JSON.parse((await remove('--confirm', 'Gone')).stdout)).toEqual({ id, deleted: true });
  expect(summaryOf(await tenant.send(chat))).toBe('404/10003 Agent not found');
  expect(await tenant.history(chat)).toHaveLength(4);
  expect(dataOf(await client.get<unknown[]>(`/chats?agent_id=${id}`))).toHaveLength(1);
  for (const command of ['get', 'versions', 'publish', 'unpublish'])
    expect((await agentctl.run('agents', command, id)).stderr).toBe('Agent not found\n');
  expect((await remove('--confirm', 'Gone')).stderr).toBe('Agent not found\n');
});

it('names every mistake of an agent.json, a line each', async () => {
  const file = await fileOf({
    name: '',
    sytem_prompt: 'x',
    system_prompt: 5,
    llm_model: 'nobody:x',
    unified_tools: [
      { type: 'unknown' },
      { type: 'consultant_lookup', description: 7 },
      { type: 'consultant_lookup', nmae: 'x', config: { max_results: 0, other: 1 } },
      { type: 'consultant_call_agent', config: { agent_id: workspaceId } },
      {
        type: 'consultant_call_agent',
        name: 'b',
        config: { agent_id: '00000000-0000-4000-8000-000000000000' },
      },
    ],
    suggested_questions: ['', 'x'],
    meta: { temperature: 2.1, max_steps: 0, vision: 'yes' },
  });
  const { code, stdout, stderr } = await agentctl.run(
    ...['agents', 'create', '--workspace', workspaceId, '--file', file],
  );
  expect([code, stdout]).toEqual([1, '']);
  const lines = stderr.trimEnd().split('\n');
  expect(lines.every((line) => line.startsWith(`${file}: `))).toBe(true);
  expect(lines.map((line) => line.slice(file.length + 2))).toEqual([
    'name must not be empty',
    'system_prompt must be a string',
    'unified_tools[1].description must be a string',
    'unified_tools[2] has the unknown field nmae',
    'suggested_questions[0] must not be empty',
    'meta.temperature must be at most 2',
    'meta.max_steps must be at least 1',
    'meta.vision must be true or false',
    'the file has the unknown field sytem_prompt',
    expect.stringMatching(/^llm_model names the unknown provider nobody; known are /),
    expect.stringMatching(/^unified_tools\[0\]\.type must be one of consultant_call_agent, /),
    'unified_tools[2].config.max_results must be at least 1',
    'unified_tools[2].config has the unknown field other',
    'unified_tools[3].config.agent_id must be a UUID',
    expect.stringMatching(/^unified_tools\[4\]\.config\.agent_id names no agent of the workspace: 0{8}-/),
  ]);
});

it.each(['null', '[]', '"x"'])('takes no file with %s', async (content) => {
  const file = join(folder, 'wrong.json');
  await writeFile(file, content);
  expect(await agentctl.run('agents', 'update', agentId, '--file', file)).toMatchObject(
    ended(1, `${file}: the file must be an object\n`),
  );
});

it('takes an agent of 350,000 bytes, and not of one more', async () => {
  const sized = (bytes: number) => {
    const empty = agentDefinition.parse({ name: 'Large', meta: { note: '' } });
    const note = 'x'.repeat(bytes - JSON.stringify(empty).length);
    return { ...empty, meta: { note } };
  };
  const { id } = await create(sized(limits.agentBytes));
  const run = await agentctl.run(
    'agents',
    'update',
    id,
    '--file',
    await fileOf(sized(limits.agentBytes + 1)),
  );
  expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('this one has 350001') });
});

const listed = 'eu.amazon.nova-lite-v1:0';

/** A server that stands in for CloudFormation and STS of an AWS account. */
const server = createServer(async (request, response) => {
  const received = await text(request);
  response
    .setHeader('Content-Type', 'text/xml')
    .end(received.includes('Action=GetCallerIdentity') ? callerIdentity : describeStacks);
});
const account = closeAfterTests(await listenLocally(server));

const callerIdentity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
    <Arn>arn:aws:iam::123456789012:user/operator</Arn><UserId>AIDAOPERATOR</UserId><Account>123456789012</Account>
    </GetCallerIdentityResult></GetCallerIdentityResponse>`;

const member = (key: string, value: string) =>
  `<member><OutputKey>${key}</OutputKey><OutputValue>${value.replaceAll('"', '&quot;')}</OutputValue></member>`;

const describeStacks = `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>
    <Stacks><member><StackName>stack</StackName><StackStatus>CREATE_COMPLETE</StackStatus>
    <CreationTime>2026-01-01T00:00:00Z</CreationTime><Outputs>
    ${member('DataTableName', service.run.outputs.DataTableName ?? '')}${member('BedrockModels', JSON.stringify([listed]))}
    </Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;

const agentWith = (model: string) => ({ name: 'Agent', llm_model: model });
const check = (model: string) => checkedAgent('agent.json', 'ws', agentWith(model));

const other = 'bedrock:anthropic.claude-v2';

it('agents may have a Bedrock model that the stage lists, and those of other providers', async () => {
  useListed({ BedrockModels: [listed] });
  expect(await check(`bedrock:${listed}`)).toMatchObject({ llm_model: `bedrock:${listed}` });
  await expect(check(other)).rejects.toMatchObject({
    lines: [
      expect.stringMatching(
        /^agent\.json: llm_model bedrock:anthropic\.claude-v2 is not in the stage setting bedrockModels.*bedrock:eu\.amazon\.nova-lite-v1:0/,
      ),
    ],
  });
  useListed({ BedrockModels: [] });
  expect(await check('openai:gpt-5')).toMatchObject({ llm_model: 'openai:gpt-5' });
  await expect(check(`bedrock:${listed}`)).rejects.toMatchObject({
    lines: [expect.stringMatching(/it is empty\. Add it to the stage in cdk\.json/)],
  });
});

it('says that the model was not checked when the target is older than the list', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  useListed({ BedrockModels: undefined });
  try {
    expect(await check(`bedrock:${listed}`)).toMatchObject({ name: 'Agent' });
    expect(printed.mock.calls.join()).toContain('not checked whether roles may invoke');
  } finally {
    printed.mockRestore();
  }
});

it('agentctl refuses to update to another, and to publish one that is no longer listed', async () => {
  const agentId = await createPublishedAgent(workspaceId, agentWith(`bedrock:${listed}`));
  expect(
    await agentctl.run('agents', 'update', agentId, '--file', await fileOf(agentWith(other))),
  ).toMatchObject(ended(1, /bedrockModels/));
  expect(await agentctl.run('agents', 'publish', agentId)).toMatchObject(
    ended(1, new RegExp(`agent ${agentId}: llm_model`)),
  );
});

it("agentctl reads a deployed stack's list from its outputs", async () => {
  const create = async (model: string) =>
    runAgentctlCommand(
      'a stack',
      [
        ...['agents', 'create', '--workspace', workspaceId, '--file', await fileOf(agentWith(model))],
        ...['--stack', 'stack', '--json'],
      ],
      {
        AWS_ENDPOINT_URL_CLOUDFORMATION: account.url,
        AWS_ENDPOINT_URL_STS: account.url,
        AWS_ENDPOINT_URL_DYNAMODB: service.run.endpoints.dynamodb,
      },
    );
  expect(await create(`bedrock:${listed}`)).toMatchObject(ended(0, /^$/));
  expect(await create(other)).toMatchObject({ code: 1 });
});
