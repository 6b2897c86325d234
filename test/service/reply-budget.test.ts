import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import type { ReasoningStep } from '#contract/message.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { type AgentFields, createPublishedAgent } from '#support/service.ts';
import { startWebServer } from '#support/tool-use.ts';
import { createChat, historyOf, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

/** The stage's defaults. */
const limits = { modelCalls: 50, toolUses: 30, toolsAtOnce: 4 };

const fetchType = 'consultant_fetch_web_content';
const fetchTool = { type: fetchType };

let respondWithPage: (response: ServerResponse) => void;
const web = closeAfterTests(await startWebServer((_request, response) => respondWithPage(response)));
const { model, service, tenant, client } = await useScriptedService({
  variables: { OUTBOUND_ALLOW: `127.0.0.1:${web.port}` },
  maxConcurrency: 2,
});
beforeEach(() => {
  model.calls.length = 0;
  model.plainCalls.length = 0;
  web.received.length = 0;
  respondWithPage = (response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('A page');
});

const agentWith = (fields: AgentFields): Promise<string> =>
  createPublishedAgent(tenant.workspaceId, { llm_model: 'openai:test', ...fields });

/** Tools that call these agents. */
const callsOf = (agents: string[]) =>
  agents.map((agent_id, index) => ({
    ...{ type: 'consultant_call_agent', name: `ask_${index}`, config: { agent_id } },
  }));

/** Calls each offered tool so many times in parallel. It replies with text only if no tool is offered. */
const greedy =
  (times = 1) =>
  (call: ModelCall): void => {
    const tools = call.request.tools ?? [];
    if (tools.length === 0) call.chunk('Enough.');
    else
      call.callTools(
        ...tools.flatMap(({ function: { name } }) =>
          Array.from({ length: times }, () => ({
            name,
            arguments: name === fetchType ? { url: web.url } : { message: 'go' },
          })),
        ),
      );
    call.finish();
  };

/** A reply that has begun, and its end and steps. */
async function start(agentId: string, by = client) {
  const chatId = await createChat(by, { agentId });
  const events = stepThrough(await by.stream(chatId, { message: 'go', agent_id: agentId }));
  const ended = async () => {
    const end = (await events.rest()).at(-2);
    return { end, steps: (await historyOf(by, chatId)).at(-1)?.meta.reasoning_steps ?? [] };
  };
  return { events, ended };
}
const reply = async (...args: Parameters<typeof start>) => (await start(...args)).ended();

const readingAgent = (max_steps: number) => agentWith({ unified_tools: [fetchTool], meta: { max_steps } });

const isWhole = { type: 'response.output_text.completed', final_text: 'Enough.' };
const succeeded = ({ result }: ReasoningStep): boolean => result?.success === true;
const failuresIn = (steps: ReasoningStep[]): unknown[] => [
  ...new Set(
    steps
      .filter((step) => !succeeded(step))
      .map(({ result }) => (result?.data as { message: string } | undefined)?.message),
  ),
];
const atOnce = 'At most 4 tools may run at once in a reply: use fewer, or one after the other';
const usesReached = 'The reply has reached its limit of 30 uses of tools: answer with what you have';

// The first turn of a run starts its functions.
describe('a reply', () => {
  it('of agents that call three others each, in every round, ends with an answer', async () => {
    let agents: string[] = [];
    for (let level = 0; level < 4; level += 1) {
      const unified_tools = callsOf(agents);
      const create = () => agentWith({ unified_tools });
      agents = await Promise.all(Array.from({ length: level < 3 ? 3 : 1 }, create));
    }
    // Bounds the test if the service has no limit.
    model.onCall = (call) => (model.calls.length > 1000 ? call.fail(400) : greedy()(call));
    const { end, steps } = await reply(agents[0] ?? '');
    expect(model.calls.length).toBeLessThanOrEqual(limits.modelCalls);
    expect(steps.filter(succeeded).length).toBeLessThanOrEqual(limits.toolUses);
    expect(end).toMatchObject({ ...isWhole, usage: { total_calls: model.calls.length } });
  });

  it('has thirty uses of tools, of which the model is told', async () => {
    const agentId = await readingAgent(50);
    model.onCall = greedy();
    const { end, steps } = await reply(agentId);
    expect(web.received).toHaveLength(limits.toolUses);
    expect(steps.map(succeeded)).toEqual([...Array(limits.toolUses).fill(true), false]);
    expect(failuresIn(steps)).toEqual([usesReached]);
    expect(model.calls.at(-1)?.request).not.toHaveProperty('tools');
    expect(JSON.stringify(model.calls.at(-1)?.request.messages)).toContain(usesReached);
    expect(end).toMatchObject(isWhole);
  });

  it('has fifty calls of models, of which the last is an answer and one the title', async () => {
    const titled = await openTenant(service, {
      model: 'openai:test',
      agent: { unified_tools: [fetchTool], meta: { max_steps: 50 } },
    });
    // A call with invalid arguments does not reach the tool, so it does not count as a use.
    const { onPlainCall } = model;
    const titleCall = Promise.withResolvers<void>();
    model.onPlainCall = (call) => {
      titleCall.resolve();
      onPlainCall(call);
    };
    model.onCall = async (call) => {
      call.chunk('Well,');
      // The title's call comes while the reply goes on.
      await titleCall.promise;
      if (call.request.tools !== undefined) call.callTools({ name: fetchType, arguments: {} });
      call.finish();
    };
    const { events } = await start(titled.agentId, titled.client);
    const all = await events.rest();
    model.onPlainCall = onPlainCall;
    expect(all).toContainEqual(expect.objectContaining({ type: 'response.output_text.completed' }));
    expect(model.plainCalls).toHaveLength(1);
    expect(model.calls).toHaveLength(limits.modelCalls - 1);
    expect(model.calls.map(({ request }) => request.tools === undefined)).toEqual([
      ...Array(limits.modelCalls - 2).fill(false),
      true,
    ]);
  });

  it.each([
    ['an answer', true, isWhole],
    ['a failure', false, { type: 'response.error', message: expect.stringContaining('cannot be reached') }],
  ])('counts calls that are made again, to the last, which is %s', async (_, responses, last) => {
    const agentId = await readingAgent(50);
    // Every second call fails, so each round from the second one on takes two calls.
    model.onCall = (call) => {
      const isLast = call.request.tools === undefined;
      if (isLast ? !responses : model.calls.length % 2 === 0) return call.fail(503, { 'Retry-After': '0' });
      if (isLast) call.chunk('Enough.');
      else call.callTools({ name: fetchType, arguments: {} });
      call.finish();
    };
    const { end } = await reply(agentId);
    expect(model.calls).toHaveLength(limits.modelCalls);
    expect(end).toMatchObject(last);
  });
});

describe('tools at once', () => {
  /** Delays all pages until `release` is called. */
  function delayedPages() {
    const waiting: ServerResponse[] = [];
    respondWithPage = (response) => waiting.push(response);
    return {
      waiting,
      release() {
        respondWithPage = (response) => response.end('A page');
        for (const response of waiting) response.end('A page');
      },
    };
  }

  it.each([
    [4, 0],
    [5, 1],
  ])('%i of one answer: %i are rejected', async (count, rejected) => {
    const agentId = await readingAgent(2);
    const pages = delayedPages();
    model.onCall = greedy(count);
    const { events, ended } = await start(agentId);
    // Before a page comes, all uses have started, and the rejected ones have ended.
    for (let seen = 0; seen < 1 + count + rejected; seen += 1) await events.next();
    await expect.poll(() => pages.waiting.length).toBe(limits.toolsAtOnce);
    pages.release();
    const { end, steps } = await ended();
    expect(end).toMatchObject(isWhole);
    expect(steps.filter(succeeded)).toHaveLength(limits.toolsAtOnce);
    expect(failuresIn(steps)).toEqual(rejected === 0 ? [] : [atOnce]);
  });

  it('of called agents: one that waits for its own tool counts as one with it', async () => {
    const readers = await Promise.all(Array.from({ length: 4 }, () => readingAgent(2)));
    const agentId = await agentWith({ unified_tools: callsOf(readers), meta: { max_steps: 2 } });
    const pages = delayedPages();
    // Each called agent reads two pages: one in the slot of its caller, and one that must wait for a slot.
    model.onCall = (call) => {
      const isReader = call.request.tools?.[0]?.function.name === fetchType;
      greedy(isReader ? 2 : 1)(call);
    };
    const { events, ended } = await start(agentId);
    for (let ends = 0; ends < 4; ) {
      const event = (await events.next()) as StreamEvent;
      if (event.type === 'response.reasoning_step.end') ends += 1;
    }
    await expect.poll(() => pages.waiting.length).toBe(limits.toolsAtOnce);
    pages.release();
    const { end, steps } = await ended();
    expect(end).toMatchObject(isWhole);
    const fetched = steps.filter(({ type }) => type === fetchType);
    expect(fetched.filter(succeeded)).toHaveLength(4);
    expect(failuresIn(fetched)).toEqual([atOnce]);
    expect(steps.filter((step) => step.type !== fetchType).map(succeeded)).toEqual([true, true, true, true]);
  });
});
