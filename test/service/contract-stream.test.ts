import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { type StreamEvent, streamEvent } from '#contract/events.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, service } = await useScriptedService();
const tenant = await openTenant(service, { titles: false });
const { client, agentId, createChat } = tenant;
const find = <Type extends StreamEvent['type']>(events: StreamEvent[], type: Type) =>
  events.find((event): event is Extract<StreamEvent, { type: Type }> => event.type === type);

/** The events of one streamed reply, without the final `[DONE]`. */
async function send(by: OpenTenant, chat: ChatResource, message = 'Hello'): Promise<StreamEvent[]> {
  const reader = await by.client.stream(chat.id, { message, agent_id: chat.meta.conversation_agent_id });
  const all = await reader.all();
  expect(all.at(-1)).toBe('[DONE]');
  return all.slice(0, -1).map((event) => {
    if (event === '[DONE]') throw new Error('There is a [DONE] before the end');
    return event;
  });
}

describe('the bytes of a stream', () => {
  const body = () => ({ message: 'Hi', agent_id: agentId });

  it('are an event line and a data line for each event, and end with data: [DONE]', async () => {
    const chat = await createChat();
    const response = await client.request('POST', `/chats/${chat.id}/messages`, { body: body() });
    const blocks = (await response.text()).split('\n\n');
    expect(blocks.pop()).toBe('');
    expect(blocks.pop()).toBe('data: [DONE]');
    const events = blocks.filter((block) => !block.startsWith(':'));
    expect(events.length).toBeGreaterThan(2);
    for (const block of events) {
      const [, type, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
      expect(JSON.parse(data ?? 'null').type).toBe(type);
    }
  });

  it('come with the headers that keep anything on the way from holding them back', async () => {
    const chat = await createChat();
    const headers = { Accept: 'text/event-stream', 'Accept-Encoding': 'gzip, br' };
    const { response, all } = await client.stream(chat.id, body(), { headers });
    await all();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': expect.stringMatching(/^text\/event-stream/),
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': expect.stringMatching(/./),
    });
    expect(response.headers.has('content-encoding')).toBe(false);
  });
});

describe('the events of a reply', () => {
  it('are each what the contract says, with one response_id, the chat, and numbers from 0', async () => {
    const titled = await openTenant(service);
    const chat = await titled.createChat();
    const events = await send(titled, chat);
    expect(events.map((event) => streamEvent.parse(event))).toEqual(events);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
      events.map((_event, index) => index),
    );
    expect(new Set(events.map(({ chat_id }) => chat_id))).toEqual(new Set([chat.id]));
    expect(new Set(events.map(({ response_id }) => response_id)).size).toBe(1);
  });

  it('name the reply in created and completed as the history does, so that it can be rated', async () => {
    const chat = await createChat();
    for (const reply of [1, 3]) {
      const events = await send(tenant, chat);
      const created = find(events, 'response.created');
      expect(find(events, 'response.output_text.completed')?.message_id).toBe(created?.message_id);
      expect((await tenant.history(chat))[reply]).toMatchObject({
        role: 'assistant',
        id: created?.message_id,
      });
      const path = `/chats/${chat.id}/messages/${created?.message_id}/feedbacks`;
      const rated = await client.post(path, { external_user_id: 'ann', type: 'sys_helpful' });
      expect(summaryOf(rated)).toBe('200/0 Feedback created');
    }
  });

  it('keep line ends and quotes of a reply inside their data line', async () => {
    const scripted = await openTenant(service, { model: model.sharedName });
    const text = 'one\n\ntwo\r\ndata: [DONE]\n"three"\u2028four\u2029five\u0085';
    const onCall = model.onCall;
    model.onCall = (call) => replyWith(call, text);
    const chat = await scripted.createChat();
    const events = await send(scripted, chat);
    const body = { message: 'Again', agent_id: scripted.agentId };
    const response = await scripted.client.request('POST', `/chats/${chat.id}/messages`, { body });
    const bytes = await response.text();
    model.onCall = onCall;
    expect(find(events, 'response.output_text.completed')?.final_text).toBe(text);
    // Other readers of lines end them at these characters too.
    expect(bytes).toContain('\\u2028');
    expect(bytes).not.toMatch(/[\u0085\u2028\u2029]/);
  });

  it('leave the chat free for the next message when they are complete', async () => {
    const chat = await createChat();
    const reader = await client.stream(chat.id, { message: 'One', agent_id: agentId });
    for await (const event of reader)
      if (event !== '[DONE]' && event.type === 'response.output_text.completed')
        expect(dataOf(await tenant.send(chat, { message: 'Two' }))).toContain('“Two”');
    expect(await tenant.history(chat)).toHaveLength(4);
  });
});

it('passes each piece on as it comes: the model says the next only when the client has the last', async () => {
  const scripted = await openTenant(service, { model: model.sharedName, titles: false });
  const { id: chatId } = await scripted.createChat();
  const called = callFor('piece by piece');
  const body = { message: 'piece by piece', agent_id: scripted.agentId };
  const events = stepThrough(await scripted.client.stream(chatId, body));
  expect(await events.next()).toMatchObject({
    type: 'response.created',
    chat_id: chatId,
    agent_id: scripted.agentId,
    model: model.sharedName,
    sequence_number: 0,
  });
  const call = await called;
  const chunks = Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? '\n' : `word ${index} 🙂 `));
  for (const [index, chunk] of chunks.entries()) {
    call.chunk(chunk);
    expect(await events.next()).toMatchObject({
      type: 'response.output_text.delta',
      delta: chunk,
      sequence_number: index + 1,
    });
  }
  call.finish({ prompt_tokens: 5, completion_tokens: 30 });
  expect(await events.next()).toMatchObject({
    type: 'response.output_text.completed',
    final_text: chunks.join(''),
    usage: { total_prompt_tokens: 5, total_completion_tokens: 30, total_tokens: 35, total_calls: 1 },
  });
  expect(await events.next()).toBe('[DONE]');
  expect(await events.next()).toBeUndefined();
});

describe('the title of a chat', () => {
  const nameOf = async (by: OpenTenant) => dataOf(await by.client.get<ChatResource[]>('/chats'))[0]?.name;

  it('is made for a reply without a stream too', async () => {
    const titled = await openTenant(service);
    dataOf(await titled.send(await titled.createChat(), { message: 'Plan my trip' }));
    // The response does not wait for the title.
    await expect.poll(() => nameOf(titled)).toBe('Plan my trip');
  });
});
