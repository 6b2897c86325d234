import { expect, it } from 'vitest';
import { clientOf } from '#support/client.ts';
import { createTenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

it('holds a conversation: creates a chat, answers as a stream and as JSON, and remembers', async () => {
  const tenant = await createTenant();
  const client = clientOf(service, tenant);
  const { body } = await client.post<{ id: number }>('/chats', { name: 'First', agent_id: tenant.agentId });
  const events = await (
    await client.stream(body.data.id, { message: 'Hi there', agent_id: tenant.agentId })
  ).all();
  expect(events.at(-1)).toBe('[DONE]');
  const reply = await client.post<string>(`/chats/${body.data.id}/messages`, {
    ...{ message: 'Are you there?', agent_id: tenant.agentId, stream: false },
  });
  expect(reply.status).toBe(200);
  const history = await client.get<{ role: string; content: string }[]>(
    `/chats/${body.data.id}/messages?external_user_id=anyone`,
  );
  expect(history.body.data.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(history.body.data.at(-1)?.content).toBe(reply.body.data);
});
