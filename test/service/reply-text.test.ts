import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { checkEnded, runBatch } from '#support/batches.ts';
import { postWithKey } from '#support/keyed-requests.ts';
import type { ModelCall } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { type AgentFields, createPublishedAgent } from '#support/service.ts';
import { deltasOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

/** The smallest value that a stage may set. */
const replyBytes = 1000;

const { model, service } = await useScriptedService({
  variables: { REPLY_BYTES: String(replyBytes) },
  maxConcurrency: 3,
});
beforeEach(() => {
  model.calls.length = 0;
});

/** JSON escapes a lone surrogate, but never a whole character. */
const halfCharacter = /\\ud[89a-f]/i;

const open = (fields: AgentFields = {}) =>
  openTenant(service, { model: 'openai:test', titles: false, agent: fields });

/** An agent that sends `message` to another agent if a user sends `Call`, and then says `Done`. The other says `reply`. */
async function openCaller(message: string, reply: string) {
  const tenant = await open();
  const agentId = await createPublishedAgent(tenant.workspaceId, {
    llm_model: 'openai:test',
    unified_tools: [{ type: 'consultant_call_agent', name: 'call', config: { agent_id: tenant.agentId } }],
  });
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.content === 'Call') call.callTools({ name: 'call', arguments: { message } });
    else call.chunk(last?.role === 'tool' ? 'Done' : reply);
    call.finish();
  };
  return { ...tenant, agentId, createChat: () => tenant.createChat({ agent_id: agentId }) };
}

function say(...chunks: string[]): void {
  model.onCall = (call) => {
    for (const chunk of chunks) call.chunk(chunk);
    call.finish();
  };
}

/** The result of a batch's only request. */
async function resultIn(tenant: Awaited<ReturnType<typeof open>>) {
  const requests = [{ custom_id: 'only', message: 'Hi' }];
  const batch = await runBatch(tenant.client, tenant, requests);
  const [result] = await checkEnded(tenant.client, batch, requests);
  return result;
}

/** Makes the model call these tools, and reply after their results. */
function useTools(...calls: Parameters<ModelCall['callTools']>): void {
  model.onCall = (call) => {
    if (call.request.messages.at(-1)?.role === 'tool') call.chunk('Done');
    else call.callTools(...calls);
    call.finish();
  };
}

/** A reply as events, as raw text, and as the history shows it. */
async function streamed(tenant: Awaited<ReturnType<typeof open>>, message: string) {
  const chat = await tenant.createChat();
  const response = await tenant.client.request('POST', `/chats/${chat.id}/messages`, {
    body: { message, agent_id: tenant.agentId },
  });
  const text = await response.text();
  const payloads = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => data);
  const events = payloads.map((data) => JSON.parse(data) as StreamEvent);
  return { text, events, deltas: deltasOf(events), stored: (await tenant.history(chat)).at(-1) };
}

describe('a half of a character in what a model says', () => {
  const chunks = [
    'One \ud83d',
    '\ude00 two \ud800',
    ' three \udc00 four',
    '\ud83d',
    '',
    '\ude00',
    'five \ud83d',
  ];
  const whole = 'One 😀 two \ufffd three \ufffd four😀five \ufffd';

  it('waits for the other one in a stream, and is replaced when none comes', async () => {
    const tenant = await open();
    say(...chunks);
    const { text, events, deltas, stored } = await streamed(tenant, 'Hi');
    expect(deltas.join('')).toBe(whole);
    expect(deltas.filter((delta) => !delta.isWellFormed())).toEqual([]);
    expect(deltas.slice(0, 2)).toEqual(['One ', '😀 two ']);
    expect(text).not.toMatch(halfCharacter);
    expect(events.at(-1)).toMatchObject({ type: 'response.output_text.completed', final_text: whole });
    expect(stored?.content).toBe(whole);
  });

  it('is replaced at the end of a reply that breaks off', async () => {
    const tenant = await open();
    model.onCall = (call) => {
      call.chunk('Half \ud83d');
      call.failInStream('server error');
    };
    const { events, deltas, stored } = await streamed(tenant, 'Hi');
    expect(deltas.join('')).toBe('Half \ufffd');
    expect(events.at(-1)).toMatchObject({ type: 'response.error' });
    expect(stored?.content).toBe('Half \ufffd');
  });
});

describe('a half of a character in a step', () => {
  it('is replaced in arguments that fit and in those that do not, for clients and for the model', async () => {
    const tenant = await open({ unified_tools: [{ type: 'consultant_request_form', name: 'form' }] });
    const field = { name: 'n', label: 'Your \ud83d name', type: 'text' };
    useTools(
      { name: 'form', arguments: { title: 'Form \udc00', fields: [field] } },
      { name: 'form', arguments: { 'no \ud800': ['\ud800', { '\udc00': null }] } },
    );
    const { text, stored } = await streamed(tenant, 'Hi');
    expect(text).not.toMatch(halfCharacter);
    expect(JSON.stringify(stored)).not.toMatch(halfCharacter);
    expect(stored?.meta.reasoning_steps?.map(({ args }) => args)).toEqual([
      expect.objectContaining({ title: 'Form \ufffd' }),
      { 'no \ufffd': ['\ufffd', { '\ufffd': null }] },
    ]);
    expect(model.calls).toHaveLength(2);
    expect(JSON.stringify(model.calls[1]?.request.messages)).not.toMatch(halfCharacter);
  });
});

describe('a reply as long as a reply may be', () => {
  const longest = `${'字'.repeat(333)}a`;

  it('is whole, and says nothing of its length', async () => {
    const tenant = await open();
    say(longest.slice(0, 100), longest.slice(100));
    const { events, stored } = await streamed(tenant, 'Hi');
    expect(events.at(-1)).toMatchObject({ final_text: longest });
    expect(events.at(-1)).not.toHaveProperty('incomplete');
    expect(stored?.meta).not.toHaveProperty('incomplete');
    const chat = await tenant.createChat();
    expect((await tenant.send(chat)).headers.get('x-reply-incomplete')).toBeNull();
  });

  it('ends there when it would go on: with its text, the reason and without an error', async () => {
    const tenant = await open();
    // Only two of the last character's three bytes would fit.
    say(longest.slice(0, 100), `${longest.slice(100, 333)}字字`, 'never sent');
    const cut = '字'.repeat(333);
    const { events, deltas, stored } = await streamed(tenant, 'Hi');
    expect(deltas.join('')).toBe(cut);
    expect(events.at(-1)).toMatchObject({
      ...{ type: 'response.output_text.completed', final_text: cut, incomplete: 'max_output_tokens' },
      usage: { total_calls: 1 },
    });
    expect(stored).toMatchObject({ content: cut, meta: { incomplete: 'max_output_tokens' } });
    expect(stored?.meta).not.toHaveProperty('error');
  });

  it('says so in the header of a JSON answer, of a repeated one too, and in a result of a batch', async () => {
    const tenant = await open();
    say(`${longest}!`);
    const chat = await tenant.createChat();
    const body = { message: 'Hi', stream: false, agent_id: tenant.agentId };
    const sendWithKey = () => postWithKey(tenant, { path: `/chats/${chat.id}/messages`, body }, 'long');
    for (const response of [await sendWithKey(), await sendWithKey()]) {
      expect(response).toMatchObject({ status: 200, body: { data: longest, error_code: 0 } });
      expect(response.headers.get('x-reply-incomplete')).toBe('max_output_tokens');
    }
    expect(await resultIn(tenant)).toMatchObject({
      ...{ status: 'success', response_content: longest, incomplete: 'max_output_tokens' },
    });
    say('Short');
    expect(await resultIn(tenant)).toMatchObject({ incomplete: null });
  });

  it('ends a model that never would, whatever it goes on with, and closes its connection', async () => {
    const tenant = await open({ unified_tools: [{ type: 'consultant_request_form', name: 'form' }] });
    const ends: Promise<void>[] = [];
    const goOn = (speak: (call: ModelCall) => void): void => {
      model.onCall = (call) => {
        ends.push(call.gone);
        const more = setInterval(() => speak(call), 1);
        void call.gone.then(() => clearInterval(more));
      };
    };
    const incomplete = 'max_output_tokens';
    goOn((call) => call.chunk('and on '));
    const content = `${'and on '.repeat(142)}and on`;
    expect((await streamed(tenant, 'Text')).stored).toMatchObject({ content, meta: { incomplete } });
    goOn((call) => call.reason('and on '));
    expect((await streamed(tenant, 'Thoughts')).stored).toMatchObject({ content: '', meta: { incomplete } });
    model.onCall = (call) => {
      ends.push(call.gone);
      call.callTools({ name: 'form', arguments: { title: 'x'.repeat(2000) } });
    };
    expect((await streamed(tenant, 'Arguments')).stored).toMatchObject({
      ...{ content: '', meta: { incomplete, reasoning_steps: [] } },
    });
    await Promise.all(ends);
    expect(ends).toHaveLength(3);
  });

  it('of an agent that is called is a step that failed, and the caller goes on', async () => {
    const caller = await openCaller('Much', `${longest}!`);
    const { events, stored } = await streamed(caller, 'Call');
    expect(events.at(-1)).toMatchObject({ final_text: 'Done' });
    const message = 'The answer was longer than the 1000 bytes that it may have';
    expect(stored?.meta.reasoning_steps).toMatchObject([{ result: { success: false, data: { message } } }]);
  });
});
