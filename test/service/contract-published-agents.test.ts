import { expect, it } from 'vitest';
import type { AgentResource } from '#contract/agent.ts';
import { unpublishAgent } from '#domain/agents/agents.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { type AgentFields, createPublishedAgent, operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const definition = {
  name: 'Travel adviser 名前 😀',
  description: 'Knows "every" train\nand ship',
  agent_type: 'consultant',
  system_prompt: 'You plan journeys.',
  llm_model: 'demo:words',
  unified_tools: [
    { type: 'consultant_search_web' },
    {
      type: 'consultant_lookup',
      name: 'look',
      description: '',
      config: { depth: 2, deep: { list: [1.5, null] } },
    },
  ],
  suggested_questions: ['Where to?', 'When?'],
  use_search: true,
  meta: { colour: 'blue', nested: { empty: '', list: [], nothing: null, number: -0.25 } },
};

const publishFullAgent = (workspaceId: string, changes: AgentFields = {}) =>
  createPublishedAgent(workspaceId, { ...definition, ...changes });
const list = async ({ client }: OpenTenant) =>
  dataOf(await client.get<AgentResource[]>('/chats/published-agents'));

it('shows a published agent with exactly the fields of the contract', async () => {
  const tenant = await openTenant(service);
  const id = await publishFullAgent(tenant.workspaceId);
  const shown = (await list(tenant)).find((agent) => agent.id === id);
  expect(shown).toEqual({
    id,
    workspace_id: tenant.workspaceId,
    publish_state: 'published',
    ...definition,
    version_number: 1,
    published_version_id: expect.stringMatching(uuid),
    published_at: expect.stringMatching(timestamp),
    created_at: expect.stringMatching(timestamp),
    updated_at: expect.stringMatching(timestamp),
  });
  expect(shown?.id).toMatch(uuid);
});

it('is a plain array in the envelope, without pages, and empty when nothing is published', async () => {
  const { client, agentId } = await openTenant(service);
  const get = () => client.get<AgentResource[]>('/chats/published-agents');
  const agent = expect.objectContaining({ id: agentId });
  expect(await get()).toMatchObject({ status: 200, body: { data: [agent], message: null, error_code: 0 } });
  await unpublishAgent(operator(), agentId);
  expect((await get()).body).toEqual({ data: [], message: null, error_code: 0 });
});

it('is whole when it is larger than what a function may answer in one piece', async () => {
  const tenant = await openTenant(service);
  // 20 agents with a note of 330,000 bytes are more than 6 MiB, which a buffered response may have.
  const note = '語'.repeat(110_000);
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => publishFullAgent(tenant.workspaceId, { meta: { note } })),
  );
  const shown = await list(tenant);
  expect(new Set(shown.map(({ id }) => id))).toEqual(new Set([tenant.agentId, ...ids]));
  expect(shown.filter(({ meta }) => meta.note === note)).toHaveLength(20);
});
