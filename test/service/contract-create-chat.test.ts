import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { unpublishAgent } from '#domain/agents/agents.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createDraftAgent, createPublishedAgent, operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const { client, workspaceId, agentId, createChat } = await openTenant(service);

/** One character with two UTF-16 units and four UTF-8 bytes. */
const emoji = '😀';
const unknownId = '00000000-0000-4000-8000-000000000000';
const total = async () => (await client.get('/chats?limit=1')).body.pagination?.total_records;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('a created chat', () => {
  it('has the fields of the specification, and metadata', async () => {
    const before = Date.now();
    const { status, body } = await client.post<ChatResource>('/chats', {
      name: 'Support',
      agent_id: agentId,
      external_user_id: 'user-1',
    });
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(['data', 'error_code', 'message']);
    expect(body).toEqual({
      data: {
        id: expect.any(Number),
        name: 'Support',
        meta: { external_user_id: 'user-1', conversation_agent_id: agentId },
        external_user_id: 'user-1',
        metadata: {},
        created_at: expect.stringMatching(timestamp),
        updated_at: body.data.created_at,
      },
      message: null,
      error_code: 0,
    });
    expect(Date.parse(body.data.created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.data.created_at)).toBeLessThanOrEqual(Date.now());
  });

  it('ignores fields that nobody knows', async () => {
    const body = `{"name":"A","agent_id":"${agentId}","id":7,"colour":"red","__proto__":{"name":1},"meta":{"a":1}}`;
    const chat = dataOf(await client.post<ChatResource>('/chats', body));
    expect(chat).toMatchObject({ name: 'A', meta: { conversation_agent_id: agentId } });
    expect(chat.meta).not.toHaveProperty('a');
  });
});

describe('name', () => {
  it.each([
    ['1 character', 'x'],
    ['256 characters', 'n'.repeat(256)],
    ['256 characters of two UTF-16 units', emoji.repeat(256)],
    ['spaces', '   '],
    ['every script and control characters', 'Ünïcödé 名前 اسم \u0000\t\n"\\/#%'],
  ])('may be %s', async (_what, name) => {
    expect((await createChat({ name })).name).toBe(name);
  });

  it.each([
    ['empty', '', 'name must not be empty'],
    ['257 characters', 'n'.repeat(257), 'name must be at most 256 characters'],
    ['257 characters of two UTF-16 units', emoji.repeat(257), 'name must be at most 256 characters'],
    ['half a character', 'a\ud83d', 'name must be valid Unicode text'],
  ])('may not be %s', async (_what, name, message) => {
    const before = await total();
    const response = await client.post('/chats', { name, agent_id: agentId });
    expect(summaryOf(response)).toBe(`400/10006 ${message}`);
    expect(await total()).toBe(before);
  });
});

describe('agent_id', () => {
  it('may name an agent that was never published, or no longer is', async () => {
    const unpublished = await createPublishedAgent(workspaceId);
    await unpublishAgent(operator(), unpublished);
    for (const agent_id of [await createDraftAgent(workspaceId), unpublished])
      expect((await createChat({ agent_id })).meta.conversation_agent_id).toBe(agent_id);
  });

  it('must name an agent of the workspace', async () => {
    const before = await total();
    const response = await client.post('/chats', { name: 'A', agent_id: unknownId });
    expect(summaryOf(response)).toBe('404/10003 Agent not found');
    expect(await total()).toBe(before);
  });
});
