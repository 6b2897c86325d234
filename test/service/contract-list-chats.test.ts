import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import type { ApiResponse } from '#support/client.ts';
import { dataOf, emptyList, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createDraftAgent, createPublishedAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const unknownId = '00000000-0000-4000-8000-000000000000';
const idsOf = (response: ApiResponse<ChatResource[]>): number[] => dataOf(response).map(({ id }) => id);

async function createChats({ createChat }: OpenTenant, count: number, fields = {}): Promise<ChatResource[]> {
  const chats: ChatResource[] = [];
  for (let index = 0; index < count; index += 1)
    chats.push(await createChat({ name: `Chat ${index}`, ...fields }));
  return chats;
}

it('has no chats in a new workspace: no pages, and no links', async () => {
  const { client } = await openTenant(service);
  expect((await client.get('/chats')).body).toEqual(emptyList);
});

describe('order_by', () => {
  let tenant: OpenTenant;
  let chats: ChatResource[];
  beforeAll(async () => {
    tenant = await openTenant(service);
    chats = await createChats(tenant, 3);
  });

  it.each([
    ['', 'newest first'],
    ['?order_by=-created_at', 'newest first'],
    ['?order_by=desc', 'newest first'],
    ['?order_by=created_at', 'oldest first'],
    ['?order_by=asc', 'oldest first'],
  ])('%s puts the %s', async (query, order) => {
    const created = chats.map(({ id }) => id);
    expect(idsOf(await tenant.client.get<ChatResource[]>(`/chats${query}`))).toEqual(
      order === 'oldest first' ? created : created.toReversed(),
    );
  });

  it.each(['name', '+created_at', 'CREATED_AT', 'updated_at', ''])('refuses %j', async (order) => {
    expect(summaryOf(await tenant.client.get(`/chats?order_by=${encodeURIComponent(order)}`))).toBe(
      '400/10006 order_by must be one of created_at, -created_at, asc, desc',
    );
  });

  it('is by creation, whatever happens to a chat later', async () => {
    const [oldest] = chats;
    if (oldest !== undefined) dataOf(await tenant.send(oldest));
    const response = await tenant.client.get<ChatResource[]>('/chats?order_by=asc');
    expect(idsOf(response)).toEqual(chats.map(({ id }) => id));
    expect(response.body.data[0]?.updated_at.localeCompare(oldest?.updated_at ?? '')).toBe(1);
  });
});

describe('filters', () => {
  let tenant: OpenTenant;
  let otherAgentId: string;
  /** Names of the chats that match a query, oldest first. */
  const namesFor = async (query: Record<string, string>): Promise<string[]> => {
    const parameters = new URLSearchParams({ ...query, order_by: 'asc' });
    const { body } = await tenant.client.get<ChatResource[]>(`/chats?${parameters}`);
    expect(body.pagination?.total_records).toBe(body.data.length);
    return body.data.map(({ name }) => name);
  };
  beforeAll(async () => {
    tenant = await openTenant(service);
    otherAgentId = await createPublishedAgent(tenant.workspaceId);
    for (const [name, agent_id, external_user_id] of [
      ['mine of ann', tenant.agentId, 'ann'],
      ['mine of bob', tenant.agentId, 'bob'],
      ['mine of nobody', tenant.agentId, undefined],
      ['other of ann', otherAgentId, 'ann'],
      ['other of nobody', otherAgentId, undefined],
    ])
      await tenant.createChat({ name, agent_id, external_user_id });
  });

  it.each<[what: string, query: () => Record<string, string>, names: string[]]>([
    ['an agent', () => ({ agent_id: tenant.agentId }), ['mine of ann', 'mine of bob', 'mine of nobody']],
    ['another agent', () => ({ agent_id: otherAgentId }), ['other of ann', 'other of nobody']],
    [
      'an agent in upper case',
      () => ({ agent_id: otherAgentId.toUpperCase() }),
      ['other of ann', 'other of nobody'],
    ],
    ['a user', () => ({ external_user_id: 'ann' }), ['mine of ann', 'other of ann']],
    ['another user', () => ({ external_user_id: 'bob' }), ['mine of bob']],
    ['both', () => ({ agent_id: otherAgentId, external_user_id: 'ann' }), ['other of ann']],
    ['both, which no chat has', () => ({ agent_id: otherAgentId, external_user_id: 'bob' }), []],
  ])('keep the chats of %s', async (_what, query, names) => {
    expect(await namesFor(query())).toEqual(names);
  });

  it('find nothing for an unknown agent, an agent without chats, or an unknown user', async () => {
    expect(await namesFor({ agent_id: unknownId })).toEqual([]);
    expect(await namesFor({ agent_id: await createDraftAgent(tenant.workspaceId) })).toEqual([]);
    expect(await namesFor({ external_user_id: 'Ann' })).toEqual([]);
    expect(await namesFor({ external_user_id: 'an' })).toEqual([]);
  });

  it.each([
    ['agent_id=x', 'agent_id must be a UUID'],
    ['agent_id=', 'agent_id must be a UUID'],
    [`agent_id=${unknownId}0`, 'agent_id must be a UUID'],
    ['external_user_id=', 'external_user_id must not be empty'],
    [`external_user_id=${'u'.repeat(257)}`, 'external_user_id must be at most 256 characters'],
    ['external_user_id=a&external_user_id=b', 'external_user_id is given more than once'],
    [`agent_id=${unknownId}&agent_id=${unknownId}`, 'agent_id is given more than once'],
    ['order_by=asc&order_by=asc', 'order_by is given more than once'],
    ['limit=0&order_by=up&agent_id=x', 'limit must be at least 1; order_by must be one of'],
  ])('%s is refused', async (query, message) => {
    const response = await tenant.client.get(`/chats?${query}`);
    expect(summaryOf(response)).toContain(`400/10006 ${message}`);
  });

  it('are ignored when nobody knows them', async () => {
    expect(await namesFor({ colour: 'red' })).toHaveLength(5);
  });
});

it('a list longer than a hundred keeps its order and its places, and shows 50 unless asked for more', async () => {
  const tenant = await openTenant(service);
  const ids = (await createChats(tenant, 103, { external_user_id: 'ann' })).map(({ id }) => id);
  const page = async (query: string) =>
    idsOf(await tenant.client.get<ChatResource[]>(`/chats?external_user_id=ann&${query}`));
  expect(await page('limit=1000&order_by=asc')).toEqual(ids);
  expect(await page('limit=1000')).toEqual(ids.toReversed());
  expect(await page('limit=5&offset=98&order_by=asc')).toEqual(ids.slice(98, 103));
  expect(await page('limit=5&offset=99')).toEqual(ids.toReversed().slice(99, 103));
  const { body } = await tenant.client.get<ChatResource[]>('/chats');
  expect(body.data.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 50));
  expect(body.pagination).toEqual({
    limit: 50,
    offset: 0,
    total_records: 103,
    total_pages: 3,
    current_page: 1,
    next_page: `${service.baseUrl}/chats?limit=50&offset=50&cursor=a${ids.at(-50)}.50`,
    prev_page: null,
  });
});
