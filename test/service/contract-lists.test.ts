import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import type { ApiResponse } from '#support/client.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

/** A filter value with characters that must be escaped in a URL. */
const user = 'a b&c=d#e+f/g%20ü😀';

const service = await useService();
const tenant = await openTenant(service, { titles: false });
const chat = await tenant.createChat({ external_user_id: user });
for (let count = 0; count < 3; count += 1) dataOf(await tenant.send(chat));
for (let count = 0; count < 5; count += 1) await tenant.createChat({ external_user_id: user });
await tenant.createChat({ external_user_id: 'someone else' });
const query = `order_by=asc&external_user_id=${encodeURIComponent(user)}`;
/** The address of each list, with an order and a filter. Each list has six items. */
const addresses = { chats: `/chats?${query}`, messages: `/chats/${chat.id}/messages?${query}` };

type Items = { id: number }[];
const items = 6;

describe.each(['chats', 'messages'] as const)('the list of %s', (list) => {
  const page = (query: string): Promise<ApiResponse<Items>> =>
    tenant.client.get<Items>(`${addresses[list]}&${query}`);
  const numbersOf = ({ body }: ApiResponse) => {
    const { next_page, prev_page, ...numbers } = body.pagination ?? { next_page: null, prev_page: null };
    return { ...numbers, next: offsetIn(next_page), prev: offsetIn(prev_page) };
  };
  const offsetIn = (link: string | null) => link && Number(new URL(link).searchParams.get('offset'));

  it.each<[string, limit: number, offset: number, pages: number, page: number, ...(number | null)[]]>([
    // The query; limit, offset, pages and current page; the offsets of the next and the previous one; the items.
    ['limit=1&offset=1', 1, 1, 6, 2, 2, 0, 1],
    ['limit=2&offset=4', 2, 4, 3, 3, null, 2, 2],
    ['limit=4', 4, 0, 2, 1, 4, null, 4],
    ['limit=4&offset=5', 4, 5, 2, 2, null, 1, 1],
    ['limit=4&offset=1', 4, 1, 2, 1, 5, null, 4],
    ['limit=6', 6, 0, 1, 1, null, null, 6],
    ['limit=1000', 1000, 0, 1, 1, null, null, 6],
    ['offset=0', 50, 0, 1, 1, null, null, 6],
    ['limit=2&offset=6', 2, 6, 3, 4, null, 4, 0],
    ['limit=2&offset=99', 2, 99, 3, 50, null, 4, 0],
    ['limit=1000&offset=9007199254740990', 1000, 9007199254740990, 1, 9007199254741, null, 0, 0],
    ['limit=1&offset=9007199254740990', 1, 9007199254740990, 6, 9007199254740991, null, 5, 0],
  ])(
    'tells of %s where it is',
    async (query, limit, offset, total_pages, current_page, next, prev, shown) => {
      const response = await page(query);
      const numbers = { limit, offset, total_pages, current_page, next, prev, total_records: items };
      expect(numbersOf(response)).toEqual(numbers);
      expect(response.body.data).toHaveLength(shown ?? -1);
    },
  );

  it.each([
    ['limit=0', 'limit must be at least 1'],
    ['limit=-1', 'limit must be at least 1'],
    ['limit=1001', 'limit must be at most 1000'],
    ['limit=abc', 'limit must be an integer'],
    ['limit=1.5', 'limit must be an integer'],
    ['limit=%2B5', 'limit must be an integer'],
    ['limit=%205', 'limit must be an integer'],
    ['limit=', 'limit must be an integer'],
    ['limit=1&limit=2', 'limit is given more than once'],
    ['offset=-1', 'offset must be at least 0'],
    ['offset=9007199254740991', 'offset must be at most 9007199254740990'],
    ['offset=9007199254740992', 'offset must be at most 9007199254740990'],
    ['limit=0&offset=-1', 'limit must be at least 1; offset must be at least 0'],
  ])('refuses %s rather than guessing', async (query, message) => {
    expect(summaryOf(await page(query))).toBe(`400/10006 ${message}`);
  });

  it.each([
    ['created_at', 'oldest'],
    ['asc', 'oldest'],
    ['-created_at', 'newest'],
    ['desc', 'newest'],
  ])('with the order %s has the %s first', async (order, first) => {
    const oldestFirst = dataOf(await page('limit=1000')).map(({ id }) => id);
    const ordered = first === 'oldest' ? oldestFirst : oldestFirst.toReversed();
    const address = addresses[list].replace('order_by=asc', `order_by=${order}`);
    const response = await tenant.client.get<Items>(`${address}&limit=4&offset=1`);
    expect(dataOf(response).map(({ id }) => id)).toEqual(ordered.slice(1, 5));
  });

  it('can be walked by its links, forward to the end and back again, with order and filter kept', async () => {
    const whole = dataOf(await page('limit=1000')).map(({ id }) => id);
    expect(whole).toHaveLength(items);
    const walk = async (address: string, link: 'next_page' | 'prev_page'): Promise<[number[][], string]> => {
      const found: number[][] = [];
      for (let next: string | null | undefined = address; next; ) {
        const { body }: ApiResponse<Items> = await tenant.client.get<Items>(next);
        found.push(body.data.map(({ id }) => id));
        address = next;
        next = body.pagination?.[link];
      }
      return [found, address];
    };
    const [forward, last] = await walk(`${addresses[list]}&limit=2`, 'next_page');
    expect(forward).toEqual([whole.slice(0, 2), whole.slice(2, 4), whole.slice(4, 6)]);
    const [backward] = await walk(last, 'prev_page');
    expect(backward).toEqual(forward.toReversed());
  });
});

describe('the cursor of a list of chats', () => {
  it('shows each chat once, though others are created and deleted between the pages', async () => {
    const { client, createChat } = await openTenant(service);
    const chats: number[] = [];
    for (let index = 0; index < 6; index += 1) chats.push((await createChat()).id);
    const get = (path: string) => client.get<Items>(path);
    const first = await get('/chats?limit=2');
    await createChat();
    await client.delete(`/chats/${chats[5]}`);
    const second = await get(first.body.pagination?.next_page ?? '');
    await client.delete(`/chats/${chats[4]}`);
    await client.delete(`/chats/${chats[3]}`);
    const third = await get(second.body.pagination?.next_page ?? '');
    const seen = [first, second, third].map((response) => dataOf(response).map(({ id }) => id));
    expect(seen).toEqual([
      chats.slice(4).reverse(),
      chats.slice(2, 4).reverse(),
      chats.slice(0, 2).reverse(),
    ]);
    expect(third.body.pagination).toMatchObject({ total_records: 4, next_page: null });
    const back = await get(third.body.pagination?.prev_page ?? '');
    expect(dataOf(back).map(({ id }) => id)).toEqual([(chats[5] ?? 0) + 1, chats[2]]);
    // An offset of one's own in a link is that offset.
    const own = new URL(second.body.pagination?.next_page ?? '');
    own.searchParams.set('offset', '3');
    expect(dataOf(await get(own.href)).map(({ id }) => id)).toEqual([chats[0]]);
  });

  it.each(['', 'a', 'a1', '1.50', 'c1.50', 'a1.x', 'a12345678901.50'])('is refused as %j', async (cursor) => {
    const response = await tenant.client.get(`/chats?cursor=${cursor}`);
    expect(summaryOf(response)).toBe('400/10006 cursor must be that of a link');
  });
});

const unknownId = '00000000-0000-4000-8000-000000000000';
describe('filters', () => {
  let filtered: OpenTenant;
  let otherAgentId: string;
  /** Names of the chats that match a query, oldest first. */
  const namesFor = async (query: Record<string, string>): Promise<string[]> => {
    const parameters = new URLSearchParams({ ...query, order_by: 'asc' });
    const { body } = await filtered.client.get<ChatResource[]>(`/chats?${parameters}`);
    expect(body.pagination?.total_records).toBe(body.data.length);
    return body.data.map(({ name }) => name);
  };
  beforeAll(async () => {
    filtered = await openTenant(service);
    otherAgentId = await createPublishedAgent(filtered.workspaceId);
    for (const [name, agent_id, external_user_id] of [
      ['mine of ann', filtered.agentId, 'ann'],
      ['mine of bob', filtered.agentId, 'bob'],
      ['mine of nobody', filtered.agentId, undefined],
      ['other of ann', otherAgentId, 'ann'],
      ['other of nobody', otherAgentId, undefined],
    ])
      await filtered.createChat({ name, agent_id, external_user_id });
  });

  it.each<[what: string, query: () => Record<string, string>, names: string[]]>([
    ['an agent', () => ({ agent_id: filtered.agentId }), ['mine of ann', 'mine of bob', 'mine of nobody']],
    [
      'an agent in upper case',
      () => ({ agent_id: otherAgentId.toUpperCase() }),
      ['other of ann', 'other of nobody'],
    ],
    ['a user', () => ({ external_user_id: 'ann' }), ['mine of ann', 'other of ann']],
    ['both', () => ({ agent_id: otherAgentId, external_user_id: 'ann' }), ['other of ann']],
    ['both, which no chat has', () => ({ agent_id: otherAgentId, external_user_id: 'bob' }), []],
  ])('keep the chats of %s', async (_what, query, names) => {
    expect(await namesFor(query())).toEqual(names);
  });

  it.each([
    ['agent_id=x', 'agent_id must be a UUID'],
    [`agent_id=${unknownId}0`, 'agent_id must be a UUID'],
    ['external_user_id=', 'external_user_id must not be empty'],
    [`external_user_id=${'u'.repeat(257)}`, 'external_user_id must be at most 256 characters'],
    ['order_by=updated_at', 'order_by must be one of created_at, -created_at, asc, desc'],
    ['order_by=asc&order_by=asc', 'order_by is given more than once'],
    ['limit=0&order_by=up&agent_id=x', 'limit must be at least 1; order_by must be one of'],
  ])('%s is refused', async (query, message) => {
    const response = await filtered.client.get(`/chats?${query}`);
    expect(summaryOf(response)).toContain(`400/10006 ${message}`);
  });
});
