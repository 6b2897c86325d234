import { describe, expect, inject, it } from 'vitest';
import { type AgentTest, agentDefinition } from '#contract/agent.ts';
import { updateAgent } from '#domain/agents/agents.ts';
import { noCounts } from '#domain/workspaces/usage.ts';
import { workspaces } from '#runtime/composition/services.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { type AgentFields, createDraftAgent, createTenant, operator, setLimits } from '#support/service.ts';
import { summarize } from '#support/usage-today.ts';
import { useScriptedService } from '#support/use-service.ts';
import { useLocalResources } from '../../bin/operator.ts';
import { testAgent } from '../../bin/test-agent.ts';

const { model, service, tenant } = await useScriptedService();
const { workspaceId, agentId } = tenant;
const { run, lines, json } = agentctlOf(service);
const table = closeAfterTests(dataTableOf(service));
const { outputs, endpoints } = service.run;
useLocalResources({
  test_agent_function: outputs.TestAgentFunctionArn ?? '',
  lambda_endpoint: endpoints.lambda,
});

/** The model repeats its instructions, unless a test has scripted another response to the message. */
const scripts = new Map<unknown, (call: ModelCall) => void>();
model.onCall = (call) => {
  const [first, last] = [call.request.messages[0], call.request.messages.at(-1)];
  const script = scripts.get(last?.content);
  if (script !== undefined) return script(call);
  replyWith(call, last?.role === 'tool' ? `Found ${last.content}` : `I am ${first?.content}`);
};

const draftOf = (fields: AgentFields) =>
  createDraftAgent(workspaceId, { llm_model: model.sharedName, ...fields });
const test = (agent_id: string, message = 'Who are you?') =>
  testAgent({ agent_id, message, version: 'draft' });
const itemsOf = async (id: string): Promise<string[]> =>
  (await table.readAll()).map(({ pk, sk }) => `${pk} ${sk}`).filter((key) => key.startsWith(`W#${id}`));
const usageOf = async (id: string) => (await summarize({ workspaceId: id, by: 'key' })).lines;

describe('agentctl agents test', () => {
  it('replies with the draft, or with the published version, and stores usage alone', async () => {
    const definition = agentDefinition.parse({
      name: 'Test agent',
      llm_model: model.sharedName,
      system_prompt: 'the draft',
    });
    await updateAgent(operator(), { agentId, definition });
    const before = await itemsOf(workspaceId);
    const tested = await json<AgentTest>('agents', 'test', agentId, 'Who are you?');
    expect(tested).toEqual({
      agent_id: agentId,
      version: null,
      model: model.sharedName,
      reply: {
        content: 'I am the draft',
        meta: {
          reasoning_steps: [],
          token_usage: {
            total_prompt_tokens: 11,
            total_completion_tokens: 7,
            total_tokens: 18,
            total_calls: 1,
            cached_prompt_tokens: 0,
          },
        },
      },
      provider: null,
      milliseconds: expect.any(Number),
    });
    expect(await lines('agents', 'test', agentId, 'Who are you?', '--published')).toEqual([
      `Version 1, ${model.sharedName}`,
      '',
      'I am Who are you?',
      '',
      expect.stringMatching(/^\d+ \+ \d+ tokens, 1 model call, \d+\.\d s$/),
    ]);
    const added = (await itemsOf(workspaceId)).filter((item) => !before.includes(item));
    expect(added).toEqual([expect.stringMatching(/#USAGE [\d-]+#operators#/)]);
    expect(await usageOf(workspaceId)).toMatchObject([
      {
        name: 'operators',
        counts: { ...noCounts, tests: 2 },
        calls: { calls: 2, promptTokens: 22, completionTokens: 14, cachedTokens: 0, writtenTokens: 0 },
      },
    ]);
  });

  it('prints the steps of all tools, of those that need a chat as well', async () => {
    const id = await draftOf({
      unified_tools: [
        { type: 'consultant_call_agent', name: 'expert', config: { agent_id: agentId } },
        { type: 'consultant_lookup' },
        { type: 'consultant_request_form', config: { form: { title: 'Order', fields: [field] } } },
      ],
    });
    scripts.set('Use all', (call) => {
      call.callTools(
        { name: 'expert', arguments: { message: 'Define it' } },
        { name: 'consultant_lookup', arguments: { query: 'order' } },
        { name: 'consultant_request_form', arguments: {} },
      );
      call.finish();
    });
    const { reply } = await test(id, 'Use all');
    expect(reply.meta.reasoning_steps?.map(({ type, result }) => [type, result])).toEqual([
      ['consultant_call_agent', { success: true, data: expect.anything() }],
      [
        'consultant_lookup',
        { success: true, data: { results: [], note: 'Nothing that was searched matches the query' } },
      ],
      ['consultant_request_form', { success: true, data: expect.anything() }],
    ]);
    expect(await lines('agents', 'test', id, 'Use all')).toEqual(
      expect.arrayContaining([
        'consultant_request_form: Asking for: Order',
        `  arguments: ${JSON.stringify({ title: 'Order', fields: [{ ...field, required: false }] })}`,
        expect.stringMatching(/^ {2}result: \{"status":"shown"/),
      ]),
    );
  });

  it('prints how the provider has responded to a wrong key, and exits with 1', async () => {
    const id = await draftOf({});
    scripts.set('Fail', (call) => call.fail(401));
    const { code, stdout } = await run('agents', 'test', id, 'Fail');
    const status = expect.stringMatching(
      /^The provider at 127\.0\.0\.1:\d+ answered with status 401 \(type scripted\)$/,
    );
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        provider: status,
        reply: { meta: { error: { code: 10005, message: 'The model refused the request' } } },
      },
    ]);
    expect(await lines('agents', 'test', id, 'Fail')).toEqual(
      expect.arrayContaining([
        'Error 10005: The model refused the request',
        expect.stringMatching(/^Provider: The provider at .* status 401 \(type scripted\)$/),
      ]),
    );
  });

  it('obeys the limits of the workspace, at the limit and one above, with the calls beyond the first', async () => {
    const limited = await createTenant({ model: model.sharedName, limits: { sends: '2/d' } });
    await test(limited.agentId);
    await test(limited.agentId);
    await expect(test(limited.agentId)).rejects.toThrow(
      /^Rate limit exceeded: sends are limited to 2\/d, try/,
    );
    // Its clients have limits of their own.
    await setLimits(limited.workspaceId, { sends: 'none', modelCalls: '2/d' });
    const twice = { unified_tools: [{ type: 'consultant_lookup' }], llm_model: model.sharedName };
    const id = await createDraftAgent(limited.workspaceId, twice);
    scripts.set('Look', (call) => {
      call.callTools({ name: 'consultant_lookup', arguments: { query: 'it' } });
      call.finish();
    });
    expect((await test(id, 'Look')).reply.meta.token_usage?.total_calls).toBe(2);
    // The second call is stored too, so that other processes know it: of two calls a day, each takes half a day.
    const stored = (await table.readAll()).map(({ pk, model_calls: fullAt }) => ({ pk: String(pk), fullAt }));
    const fullTimes = stored.filter(
      ({ pk, fullAt }) => pk.includes(limited.workspaceId) && fullAt !== undefined,
    );
    expect(fullTimes.map(({ fullAt }) => Number(fullAt) > Date.now() + 18 * 3_600_000)).toContain(true);
    await expect(test(id, 'Look')).rejects.toThrow(/^Rate limit exceeded: model calls are limited to 2\/d/);
    expect(await usageOf(limited.workspaceId)).toMatchObject([{ counts: { tests: 3, failedTests: 0 } }]);
  });

  it('rejects what cannot be tested with one line', async () => {
    const id = await draftOf({});
    const { code, stderr } = await run('agents', 'test', id, 'Hello', '--published');
    expect([code, stderr]).toEqual([1, 'Agent version not found\n']);
    await expect(test(crypto.randomUUID())).rejects.toThrow(/^Agent not found$/);
    await expect(test('support')).rejects.toThrow(/^agent_id must be a UUID$/);
    await expect(test(id, '')).rejects.toThrow(/^message must not be empty$/);
    const disabled = await createTenant();
    await workspaces().update(disabled.workspaceId, { enabled: false });
    await expect(test(disabled.agentId)).rejects.toThrow(/^The workspace is disabled$/);
  });
});

describe('the operations of the playground', () => {
  const { origin } = new URL(service.baseUrl);
  async function operate<Body = { errors: string[] }>(
    name: string,
    input: Record<string, unknown>,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Body }> {
    const response = await fetch(`${origin}/operator/${name}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Operator-Token': inject('sharedService').operatorToken,
        Origin: origin,
        ...headers,
      },
      body: JSON.stringify(input),
    });
    return { status: response.status, body: (await response.json()) as Body };
  }

  it('write, test and publish an agent of the workspace of a key, and go back', async () => {
    const writer = await createTenant();
    const api_key = writer.apiKey;
    const definition = { name: 'Writer', llm_model: model.sharedName, system_prompt: 'new' };
    const created = await operate<Edited>('create', { api_key, definition });
    expect([created.status, created.body]).toMatchObject([200, { publish_state: 'draft', versions: [] }]);
    const agent_id = created.body.id;
    const { body } = await operate<AgentTest>('test', { agent_id, message: 'Who?', version: 'draft' });
    expect(body.reply.content).toBe('I am new');
    await operate('publish', { agent_id });
    await operate('update', { agent_id, definition: { ...definition, system_prompt: 'newer' } });
    await operate('publish', { agent_id });
    const back = await operate<Edited>('rollback', { agent_id, to: 1 });
    expect(back.body).toMatchObject({
      definition: { system_prompt: 'newer' },
      versions: [
        { number: 3, copy_of: 1, published: true, definition: { system_prompt: 'new' } },
        { number: 2, copy_of: null, published: false },
        { number: 1, published: false },
      ],
    });
    expect((await operate<Edited>('get', { agent_id })).body).toEqual(back.body);
    const listed = await operate<{ agents: { id: string }[] }>('list', { api_key });
    expect(listed.body.agents.map(({ id }) => id)).toEqual([writer.agentId, agent_id]);
  });

  it('are rejected without the token, the origin and JSON of their own page, and if they make no sense', async () => {
    const update = { agent_id: agentId, definition: { name: 'Taken over' } };
    const rejections = await Promise.all([
      operate('update', update, { 'X-Operator-Token': tenant.apiKey }),
      operate('update', update, { Origin: 'http://127.0.0.1:5173' }),
      operate('update', update, { 'Content-Type': 'text/plain' }),
      operate('erase', update),
      operate('constructor', update),
      operate('publish', { agent_id: 'support' }),
      operate('publish', { agent_id: crypto.randomUUID() }),
      operate('list', { api_key: 'ak_unknown' }),
      operate('rollback', { agent_id: agentId, to: 7 }),
      operate('create', { api_key: tenant.apiKey, definition: { name: 'Wrong', llm_model: 'none:x' } }),
    ]);
    expect(rejections.map(({ status }) => status)).toEqual([
      401, 403, 415, 404, 404, 400, 404, 400, 404, 400,
    ]);
    expect(rejections.slice(5).map(({ body }) => body.errors)).toEqual([
      ['agent_id must be a UUID'],
      ['Agent not found'],
      ['The API key is unknown'],
      ['The agent has no version 7'],
      [expect.stringContaining('llm_model names the unknown provider none')],
    ]);
    expect((await operator().agents.get(workspaceId, agentId))?.definition.name).toBe('Test agent');
  });
});

interface Edited {
  id: string;
  definition: unknown;
  versions: unknown[];
}

const field = { name: 'count', label: 'Count', type: 'number' } as const;
