import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService({ recordCalls: true, maxConcurrency: 1 });

const notFound = '404/10003 Chat not found';
const success = '200/0 success';

/** The ids of a list and its total, oldest first. */
async function listed(
  { client }: OpenTenant,
  query = '',
): Promise<{ ids: number[]; total: number | undefined }> {
  const { body } = await client.get<ChatResource[]>(`/chats?order_by=asc&${query}`);
  return { ids: body.data.map(({ id }) => id), total: body.pagination?.total_records };
}

it('answers with the id, and after that with Chat not found', async () => {
  const { client, createChat } = await openTenant(service);
  const { id } = await createChat();
  const { body } = await client.delete(`/chats/${id}`);
  expect(body).toEqual({ data: { id, deleted: true }, message: null, error_code: 0 });
  expect(summaryOf(await client.delete(`/chats/${id}`))).toBe(notFound);
});

it('is for the user of the chat alone, in the query or the header', async () => {
  const { client, createChat } = await openTenant(service);
  const chats = [
    await createChat({ external_user_id: 'ann' }),
    await createChat({ external_user_id: 'ann' }),
  ];
  const [first, second] = chats.map(({ id }) => `/chats/${id}`);
  for (const query of ['', '?external_user_id=bob'])
    expect(summaryOf(await client.delete(first + query))).toBe(notFound);
  expect(summaryOf(await client.delete(`${first}?external_user_id=ann`))).toBe(success);
  const headers = { 'x-external-user-id': 'ann' };
  expect((await client.request('DELETE', `${second}?external_user_id=bob`, { headers })).status).toBe(400);
  expect((await client.request('DELETE', second ?? '', { headers })).status).toBe(200);
});

it('takes the chat out of every list, with exact totals and links, and gives its id to no other', async () => {
  const tenant = await openTenant(service);
  const { client, createChat, agentId } = tenant;
  for (let created = 0; created < 5; created += 1) await createChat({ external_user_id: 'ann' });
  for (const id of [2, 5]) dataOf(await client.delete(`/chats/${id}?external_user_id=ann`));
  const filters = [
    '',
    `agent_id=${agentId}`,
    'external_user_id=ann',
    `agent_id=${agentId}&external_user_id=ann`,
  ];
  for (const filter of filters) {
    expect(await listed(tenant, filter)).toEqual({ ids: [1, 3, 4], total: 3 });
    const { body } = await client.get<ChatResource[]>(`/chats?limit=2&${filter}`);
    expect(body.data.map(({ id }) => id)).toEqual([4, 3]);
    const next = await client.get<ChatResource[]>(body.pagination?.next_page ?? '');
    expect(next.body.data.map(({ id }) => id)).toEqual([1]);
    expect(next.body.pagination).toMatchObject({ total_records: 3, total_pages: 2, next_page: null });
  }
  expect((await createChat()).id).toBe(6);
});

it('reads less for a page of a list after a deletion', async () => {
  const tenant = await openTenant(service);
  for (let created = 0; created < 3; created += 1) await tenant.createChat();
  const unitsOf = async () => {
    await listed(tenant);
    const before = service.run.dynamoCalls().length;
    await listed(tenant);
    return service.run
      .dynamoCalls()
      .slice(before)
      .filter(({ functionName }) => functionName?.includes('ListChats'))
      .reduce((sum, { consumed }) => sum + consumed.readUnits, 0);
  };
  // Counts, entries, and each chat.
  expect(await unitsOf()).toBe(1 + 1 + 3);
  dataOf(await tenant.client.delete('/chats/2'));
  expect(await unitsOf()).toBe(1 + 1 + 2);
});

describe('a deleted chat is not found by', () => {
  it.each<[string, (tenant: OpenTenant, chat: ChatResource, reply: number) => Promise<string>]>([
    ['a read', async ({ client }, { id }) => summaryOf(await client.get(`/chats/${id}`))],
    ['a rename', async ({ client }, { id }) => summaryOf(await client.patch(`/chats/${id}`, { name: 'B' }))],
    ['a send', async ({ send }, chat) => summaryOf(await send(chat))],
    ['a send as a stream', async ({ send }, chat) => summaryOf(await send(chat, { stream: true }))],
    [
      'a history',
      async ({ client }, { id }) => summaryOf(await client.get(`/chats/${id}/messages?external_user_id=ann`)),
    ],
    ['a stop', async ({ client }, { id }) => summaryOf(await client.post(`/chats/${id}/stop`, {}))],
    [
      'a rating',
      async ({ client }, { id }, reply) =>
        summaryOf(
          await client.post(`/chats/${id}/messages/${reply}/feedbacks`, {
            external_user_id: 'ann',
            type: 'sys_helpful',
          }),
        ),
    ],
  ])('%s', async (_what, call) => {
    const tenant = await openTenant(service);
    const chat = await tenant.createChat();
    dataOf(await tenant.send(chat));
    const reply = (await tenant.history(chat))[1]?.id ?? 0;
    dataOf(await tenant.client.delete(`/chats/${chat.id}`));
    expect(await call(tenant, chat, reply)).toBe(notFound);
  });

  it('a batch', async () => {
    const { client, createChat, agentId } = await openTenant(service);
    const { id } = await createChat();
    dataOf(await client.delete(`/chats/${id}`));
    const requests = [{ custom_id: 'a', message: 'Hi', history_id: id }];
    expect(summaryOf(await client.post('/batches', { agent_id: agentId, requests }))).toBe(
      '404/10003 requests[0].history_id: Chat not found',
    );
  });

  it('a repeated request with an Idempotency-Key', async () => {
    const { client, agentId } = await openTenant(service);
    const keyed = (path: string, body: object) =>
      client.post<ChatResource>(
        path,
        { agent_id: agentId, ...body },
        { headers: { 'idempotency-key': path } },
      );
    const create = () => keyed('/chats', { name: 'A chat' });
    const { id } = dataOf(await create());
    const send = () => keyed(`/chats/${id}/messages`, { message: 'Hi', stream: false });
    dataOf(await send());
    expect(summaryOf(await create())).toBe(success);
    dataOf(await client.delete(`/chats/${id}`));
    expect(summaryOf(await create())).toBe(notFound);
    expect(summaryOf(await send())).toBe(notFound);
  });
});
