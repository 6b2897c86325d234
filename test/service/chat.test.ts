import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientOf } from '#support/client.ts';
import { createTenant, type Service, startService } from '#support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

it('holds a conversation: creates a chat, answers as a stream and as JSON, and remembers', async () => {
  const tenant = await createTenant();
  const client = clientOf(service, tenant);
  const { body } = await client.post<{ id: number }>('/chats', { name: 'First', agent_id: tenant.agentId });
  const events = await (
    await client.stream(body.data.id, { message: 'Hi there', agent_id: tenant.agentId })
  ).all();
  expect(events.at(-1)).toBe('[DONE]');
});
