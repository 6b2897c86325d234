import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { clientOf } from '#support/client.ts';
import { webFunctions } from '#support/entry-points.ts';
import { createTenant, type Tenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf, rejectedWhileResponding } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

let tenant: Tenant;
let repeated: 'meanwhile' | 'afterwards' | undefined;
const { model, service } = await useScriptedService({
  faults: { repeatedRequest: () => repeated },
});

async function repeating(when: 'meanwhile' | 'afterwards') {
  repeated = undefined;
  tenant = await createTenant({ model: 'openai:test', titles: false });
  model.calls.length = 0;
  const client = clientOf(service, tenant);
  const chatId = await createChat(client, tenant);
  repeated = when;
  return { client, chatId };
}

// No gateway repeats the event of a Lambda function here.
describe.runIf(webFunctions === 'all')('a request that the gateway repeats', () => {
  it.each(['meanwhile', 'afterwards'] as const)('makes one chat, when it comes %s', async (when) => {
    const { client, chatId } = await repeating(when);
    const fields = { name: 'A chat', agent_id: tenant.agentId };
    const { body } = await client.post<ChatResource>('/chats', fields);
    const key = { headers: { 'Idempotency-Key': 'one' } };
    const keyed = await client.post<ChatResource>('/chats', fields, key);
    const list = await client.get<ChatResource[]>('/chats');
    // The ids of the repeated requests are not used.
    expect(list.body.data.map(({ id }) => id)).toEqual([keyed.body.data.id, body.data.id, chatId]);
  });

  it('gets the stored reply, as JSON and as a stream, and makes no second turn', async () => {
    const { client, chatId } = await repeating('afterwards');
    const send = { message: 'Hi', agent_id: tenant.agentId };
    const path = `/chats/${chatId}/messages`;
    const reply = await client.post<string>(path, { ...send, stream: false });
    expect([reply.status, reply.body.data]).toEqual([200, 'Hello']);
    const events = await (await client.stream(chatId, send)).all();
    const completed = { final_text: 'Hello', message_id: expect.any(Number), usage: { total_calls: 1 } };
    expect(events).toMatchObject([
      { type: 'response.created' },
      { type: 'response.output_text.delta' },
      { type: 'response.output_text.completed', ...completed },
      '[DONE]',
    ]);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['Hi', 'Hello', 'Hi', 'Hello']);
    expect(model.calls).toHaveLength(2);
  });

  it('makes no second turn while the first one runs', async () => {
    const { client, chatId } = await repeating('meanwhile');
    const send = { message: 'Hi', agent_id: tenant.agentId, stream: false };
    const response = await client.post<string>(`/chats/${chatId}/messages`, send);
    // Either of the two comes first.
    if (response.status !== 200) expect(response).toMatchObject(rejectedWhileResponding);
    await expect.poll(async () => contentsOf(await historyOf(client, chatId))).toEqual(['Hi', 'Hello']);
    expect(model.calls).toHaveLength(1);
  });
});
