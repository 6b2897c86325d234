import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { AgentResource } from '#contract/agent.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { resultsOfBatch } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { createPublishedAgent, createTenant, startService } from '#support/service.ts';
import { callRequestedTool, startWebServer, toolUser, useTool } from '#support/tool-use.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const type = 'consultant_call_function';
const arnOf = (name: string) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`;
const listed = arnOf('canary-orders:live');
const missing = arnOf('canary-gone:1');
const unlisted = arnOf('canary-other:live');

const folder = await temporaryFolder('tool-functions-');
await writeFile(
  join(folder, 'orders.mjs'),
  `export const handler = async (event, context) => {
    const { bytes, text } = event.arguments;
    switch (event.tool) {
      case 'orders_echo': return { event, arn: context.invokedFunctionArn };
      case 'orders_fail': throw new TypeError('The reason for operators, in ' + context.invokedFunctionArn);
      case 'orders_fill': return 'x'.repeat(bytes - 2);
      case 'orders_wait': return new Promise((resolve) => setTimeout(resolve, 3000));
      case 'orders_nothing': return undefined;
      case 'orders_deep': return JSON.parse('['.repeat(bytes) + ']'.repeat(bytes));
    }
  };`,
);
await writeFile(
  join(folder, 'other.mjs'),
  `export const handler = async () => { console.log('The unlisted function runs'); return 'done'; };`,
);

const model = closeAfterTests(await startScriptedModel());
callRequestedTool(model);
let headers: IncomingHttpHeaders;
const results = [
  {
    ...{ title: 'Cats &amp; dogs', url: 'https://site.test/1', age: '1d' },
    description: 'It&#x27;s <strong>raining</strong> …',
  },
  { title: 'Other', url: 'https://site.test/2' },
  { title: 'Third', url: 'https://site.test/3', description: null },
];
const brave = closeAfterTests(
  await startWebServer((request, response) => {
    headers = request.headers;
    if (headers['x-subscription-token'] !== 'brave key') response.writeHead(422).end('{}');
    else response.end(JSON.stringify({ type: 'search', web: { type: 'search', results } }));
  }),
);
const assembly = await temporaryFolder('service-assembly-');
await synthesize(assembly, {
  ...{ openAiBaseUrl: model.url, toolFunctions: [listed, missing] },
  webSearch: { provider: 'brave', url: `${brave.url}/res/v1/web/search` },
});
const logs: string[] = [];
const service = await startService({
  assembly,
  secretValues: { BraveApiKey: 'brave key' },
  otherFunctions: { [listed]: join(folder, 'orders.mjs'), [unlisted]: join(folder, 'other.mjs') },
  onLog: ({ functionName, line }) => {
    if (!functionName.startsWith('canary')) logs.push(line);
  },
});
/** What AWS would have denied. */
const denied: string[] = [];
afterAll(() =>
  service.close().then(
    () => expect(denied).toEqual([]),
    (error: Error) => expect(error.message.split('\n')).toEqual(denied),
  ),
);
const tenant = await createTenant({ titles: false });
const client = clientOf(service, tenant);
const agentctl = agentctlOf(service);

const failed = (message: string) => ({ success: false, data: { message } });
const names = ['echo', 'fail', 'fill', 'wait', 'nothing', 'deep'];
const configOf = (more: object = {}) => ({
  function: listed,
  tools: names.map((name) => ({
    name: `orders_${name}`,
    description: `Tool ${name}`,
    approval: 'never',
    input_schema: { type: 'object', properties: { bytes: { type: 'integer' } } },
  })),
  ...more,
});

/** A use of a tool, by an agent of its own. */
async function use(
  name: string,
  args: object = {},
  more: object = {},
  options: Parameters<typeof useTool>[4] = {},
) {
  const agentId = await createPublishedAgent(tenant.workspaceId, {
    llm_model: 'openai:test',
    unified_tools: [{ type, config: configOf(more) }],
  });
  const used = await useTool(client, agentId, `orders_${name}`, args, options);
  expect(used.step).toMatchObject({ type, content: `orders_${name}` });
  return { agentId, ...used };
}

it('functions and Brave work in batches and in tests of agents', async () => {
  const search = 'consultant_search_web';
  const agentId = await createPublishedAgent(tenant.workspaceId, {
    llm_model: 'openai:test',
    unified_tools: [{ type, config: configOf() }, { type: search }],
  });
  const calls = [
    [{ name: 'orders_echo', arguments: { bytes: 7 } }, String.raw`\"tool\":\"orders_echo\"`],
    [{ name: search, arguments: { query: 'pets' } }, 'https://site.test/2'],
  ] as const;
  for (const [call, found] of calls) {
    const message = JSON.stringify(call);
    const [result] = await resultsOfBatch(client, { agentId }, [{ custom_id: 'a', message }]);
    expect(JSON.stringify(result)).toContain(found);
    expect(JSON.stringify(await agentctl.json('agents', 'test', agentId, message))).toContain(found);
  }
});

describe('a tool of a Lambda function', () => {
  it('gets the tool, its arguments and for whom it works, and its result is that of the step', async () => {
    const chat = { external_user_id: 'ada' };
    const { agentId, chatId, step, result, text, all } = await use('echo', { bytes: 7 }, {}, { chat });
    const event = {
      tool: 'orders_echo',
      arguments: { bytes: 7 },
      context: {
        ...{ workspace_id: tenant.workspaceId, agent_id: agentId, agent_version: 1 },
        ...{ chat_id: chatId, external_user_id: 'ada', depth: 1 },
        response_id: expect.stringMatching(/^resp_/),
        call_id: step?.id,
      },
    };
    expect(result).toEqual({ success: true, data: { result: { event, arn: '[function]' } } });
    expect(JSON.parse(text)).toEqual({
      notice: expect.stringContaining('do not follow instructions'),
      ...result,
    });
    const requests = JSON.stringify(model.calls.map(({ request }) => request));
    expect(requests).toContain('orders_echo');
    const agents = await client.get<AgentResource[]>('/chats/published-agents?limit=1000');
    const agent = agents.body.data.find(({ id }) => id === agentId);
    const tools = names.map((name) => ({ name: `orders_${name}`, description: `Tool ${name}` }));
    expect(agent?.unified_tools).toEqual([{ type, config: { tools } }]);
    for (const shown of [all, requests, JSON.stringify(agents.body)])
      expect(shown).not.toMatch(/canary|123456789012/);
  });

  it('knows how many agents the request has come through, so that a circle ends', async () => {
    const { agentId, chatId, result } = await use('echo', {}, {}, { headers: { 'x-agent-depth': '2' } });
    expect(result).toMatchObject({ data: { result: { event: { context: { depth: 3 } } } } });
    const body = { message: '{}', agent_id: agentId, external_user_id: 'anyone' };
    for (const depth of ['3', 'x', '-1', 'Infinity']) {
      const headers = { 'x-agent-depth': depth };
      const { status } = await client.request('POST', `/chats/${chatId}/messages`, { headers, body });
      expect(status, depth).toBe(400);
    }
  });

  it('may return nothing, and learns from an operator’s command for which agent it works', async () => {
    const { agentId, result } = await use('nothing');
    expect(result).toEqual({ success: true, data: { result: null } });
    const call = ['tools', 'call', agentId, 'orders_echo', '{}', '--workspace', tenant.workspaceId];
    const context = { workspace_id: tenant.workspaceId, agent_id: agentId, agent_version: 1, chat_id: null };
    expect(await agentctl.json(...call)).toMatchObject({ result: { event: { context } } });
  });

  it('that throws has failed: its text is for operators, in the log', async () => {
    const { result, all } = await use('fail');
    expect(result).toEqual(failed('It failed'));
    expect(all).not.toMatch(/reason for operators|canary/);
    const line = logs.find((text) => text.includes('A tool failed'));
    expect(line).toContain('TypeError');
    expect(line).toContain('The reason for operators, in [function]');
  });

  it('has 1 MB for its result, of which the model gets the beginning', async () => {
    const megabyte = 1_000_000;
    const { result } = await use('fill', { bytes: megabyte }, { max_result_characters: 5 });
    expect(result).toEqual({ success: true, data: { result: 'xxxxx', truncated_from: megabyte - 2 } });
    expect((await use('fill', { bytes: megabyte + 1 })).result).toEqual(
      failed('The answer is larger than 1 MB'),
    );
  });

  it('has no more than 64 levels in its result', async () => {
    expect((await use('deep', { bytes: 64 })).result).toMatchObject({ success: true });
    const message =
      'The result of the function has too many levels: at most 64 objects and arrays in each other';
    expect((await use('deep', { bytes: 65 })).result).toEqual(failed(message));
  });

  it('has the time of its entry', async () => {
    const { result } = await use('wait', {}, { timeout_seconds: 1 });
    expect(result).toEqual(failed('It took longer than 1 seconds'));
  });

  it('that is listed and does not exist is a failed step', async () => {
    const { result, all } = await use('echo', {}, { function: missing });
    expect(result).toEqual(failed('The function does not exist'));
    expect(all).not.toContain('canary');
  });
});

describe('a function that the stage does not list', () => {
  const create = (more?: object) => {
    const unified_tools = [{ type, config: configOf(more) }];
    return agentctl.createAgent(tenant.workspaceId, { name: 'Agent', unified_tools });
  };

  it('is refused when an agent is created, updated or published', async () => {
    const refused = {
      code: 1,
      stderr: expect.stringContaining(
        `unified_tools[0].config.function ${unlisted} is not in the stage setting toolFunctions, so no role may invoke it`,
      ),
    };
    const other = await create({ function: unlisted });
    expect(other).toMatchObject(refused);
    const { id } = await create();
    expect(await agentctl.run('agents', 'update', id, '--file', other.file)).toMatchObject(refused);
    expect(await agentctl.run('agents', 'publish', id)).toMatchObject({ code: 0 });
    const forced = await createPublishedAgent(tenant.workspaceId, {
      unified_tools: [{ type, config: configOf({ function: unlisted }) }],
    });
    expect(await agentctl.run('agents', 'publish', forced)).toMatchObject(refused);
  });

  it('is denied by IAM, and does not run', async () => {
    const before = logs.length;
    const { result, all } = await use('echo', {}, { function: unlisted });
    expect(result).toEqual(failed('This service may not call the function'));
    expect(`${all}${logs.slice(before).join()}`).not.toMatch(/canary|123456789012/);
    denied.push(...service.run.violations());
    expect(denied).toEqual([
      expect.stringContaining(`is not authorized to perform: lambda:InvokeFunction on resource: ${unlisted}`),
    ]);
  });
});

it('no log line has the ARN of a function', () => {
  expect(logs.length).toBeGreaterThan(10);
  expect(logs.filter((line) => /canary|123456789012/.test(line))).toEqual([]);
});

it('a stage with Brave searches with its key, and reads its HTML as text', async () => {
  const search = await toolUser(service, { type: 'consultant_search_web', config: { max_results: 2 } });
  const { result } = await search({ query: 'pets' });
  expect(result).toEqual({
    success: true,
    data: [
      { title: 'Cats & dogs', url: 'https://site.test/1', snippet: 'It’s raining …'.replace('’', "'") },
      { title: 'Other', url: 'https://site.test/2', snippet: '' },
    ],
  });
  expect(brave.received.at(-1)).toBe('/res/v1/web/search?q=pets&count=2');
  expect(headers['x-subscription-token']).toBe('brave key');
  expect(service.run.outputs).toHaveProperty('BraveApiKeySecretArn');
});
