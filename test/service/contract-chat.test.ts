import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const { client, createChat } = tenant;

const notFound = '404/10003 Chat not found';
const success = '200/0 success';

const listed = async (by: OpenTenant): Promise<ChatResource[]> =>
  dataOf(await by.client.get<ChatResource[]>('/chats'));

describe('GET /chats/{chat_id}', () => {
  it('is the chat as it was created, and as the list has it', async () => {
    const own = await openTenant(service);
    const chat = await own.createChat({ external_user_id: 'ann' });
    const { body } = await own.client.get<ChatResource>(`/chats/${chat.id}?external_user_id=ann`);
    expect(body).toEqual({ data: chat, message: null, error_code: 0 });
    expect(await listed(own)).toEqual([chat]);
  });

  it('takes the user from the query or the header, which may not differ', async () => {
    const { id } = await createChat({ external_user_id: 'Ännchen' });
    const read = async (query: string, user?: string) =>
      summaryOf(
        await client.get(`/chats/${id}${query}`, {
          headers: user === undefined ? {} : { 'x-external-user-id': Buffer.from(user).toString('latin1') },
        }),
      );
    const inQuery = `?external_user_id=${encodeURIComponent('Ännchen')}`;
    expect(await read(inQuery)).toBe(success);
    expect(await read('', 'Ännchen')).toBe(success);
    expect(await read(inQuery, 'Ännchen')).toBe(success);
    expect(await read(inQuery, 'bob')).toBe(
      '400/10006 external_user_id and the header x-external-user-id differ',
    );
    for (const rejected of [await read(''), await read('?external_user_id=bob'), await read('', 'bob')])
      expect(rejected).toBe(notFound);
  });

  it('is open to every user if the chat has none', async () => {
    const { id } = await createChat();
    for (const query of ['', '?external_user_id=ann'])
      expect(summaryOf(await client.get(`/chats/${id}${query}`))).toBe(success);
  });
});

describe('PATCH /chats/{chat_id}', () => {
  it('gives the chat another name, and changes nothing else but the time of its update', async () => {
    const own = await openTenant(service);
    const chat = await own.createChat({ external_user_id: 'ann' });
    const renamed = dataOf(
      await own.client.patch<ChatResource>(`/chats/${chat.id}`, { name: '名前😀', external_user_id: 'ann' }),
    );
    expect(renamed).toEqual({ ...chat, name: '名前😀', updated_at: renamed.updated_at });
    expect(renamed.updated_at >= chat.updated_at).toBe(true);
    expect(dataOf(await own.client.get(`/chats/${chat.id}?external_user_id=ann`))).toEqual(renamed);
    expect(await listed(own)).toEqual([renamed]);
  });

  it('is for the user of the chat alone', async () => {
    const chat = await createChat({ external_user_id: 'ann' });
    for (const external_user_id of ['bob', null, undefined])
      expect(summaryOf(await client.patch(`/chats/${chat.id}`, { name: 'B', external_user_id }))).toBe(
        notFound,
      );
    expect(dataOf(await client.get(`/chats/${chat.id}?external_user_id=ann`))).toEqual(chat);
  });

  it.each([
    [{ name: null }, /^400\/10006 name /],
    [{}, /^400\/10006 name /],
    [{ name: '' }, /^400\/10006 name must not be empty$/],
    [{ name: 'n'.repeat(257) }, /^400\/10006 name must be at most \d+ characters$/],
    [{ name: 'B', external_user_id: 1 }, /^400\/10006 external_user_id /],
    ['{', /^400\/10006 The body is not valid JSON$/],
  ])('rejects %j', async (body, message) => {
    const { id } = await createChat();
    expect(summaryOf(await client.patch(`/chats/${id}`, body))).toMatch(message);
  });

  it('of an unknown chat creates none', async () => {
    const { client: other } = await openTenant(service);
    expect(summaryOf(await other.patch('/chats/7', { name: 'B' }))).toBe(notFound);
    expect(summaryOf(await other.get('/chats/7'))).toBe(notFound);
  });
});

describe('DELETE /chats/{chat_id}', () => {
  it('answers with the id, and after that with Chat not found', async () => {
    const { id } = await createChat();
    const { body } = await client.delete(`/chats/${id}`);
    expect(body).toEqual({ data: { id, deleted: true }, message: null, error_code: 0 });
    expect(summaryOf(await client.delete(`/chats/${id}`))).toBe(notFound);
  });

  it('is for the user of the chat alone, in the query or the header', async () => {
    const createOfAnn = async () => `/chats/${(await createChat({ external_user_id: 'ann' })).id}`;
    const [first, second] = [await createOfAnn(), await createOfAnn()];
    for (const query of ['', '?external_user_id=bob'])
      expect(summaryOf(await client.delete(first + query))).toBe(notFound);
    expect(summaryOf(await client.delete(`${first}?external_user_id=ann`))).toBe(success);
    const headers = { 'x-external-user-id': 'ann' };
    expect((await client.request('DELETE', `${second}?external_user_id=bob`, { headers })).status).toBe(400);
    expect((await client.request('DELETE', second, { headers })).status).toBe(200);
  });

  it('takes the chat out of every list, with exact totals and links, and gives its id to no other', async () => {
    const own = await openTenant(service);
    const get = (path: string) => own.client.get<ChatResource[]>(path);
    for (let created = 0; created < 5; created += 1) await own.createChat({ external_user_id: 'ann' });
    for (const id of [2, 5]) dataOf(await own.client.delete(`/chats/${id}?external_user_id=ann`));
    const ofAgent = `agent_id=${own.agentId}`;
    for (const filter of ['', ofAgent, 'external_user_id=ann', `${ofAgent}&external_user_id=ann`]) {
      const all = await get(`/chats?order_by=asc&${filter}`);
      expect(all.body.data.map(({ id }) => id)).toEqual([1, 3, 4]);
      expect(all.body.pagination?.total_records).toBe(3);
      const { body } = await get(`/chats?limit=2&${filter}`);
      expect(body.data.map(({ id }) => id)).toEqual([4, 3]);
      const next = await get(body.pagination?.next_page ?? '');
      expect(next.body.data.map(({ id }) => id)).toEqual([1]);
      expect(next.body.pagination).toMatchObject({ total_records: 3, total_pages: 2, next_page: null });
    }
    expect((await own.createChat()).id).toBe(6);
  });
});

describe('a deleted chat is not found by', () => {
  const rating = { external_user_id: 'ann', type: 'sys_helpful' };

  it.each<[string, (chat: ChatResource, path: string, reply: number) => ReturnType<typeof client.get>]>([
    ['a read', (_, path) => client.get(path)],
    ['a rename', (_, path) => client.patch(path, { name: 'B' })],
    ['a send', (chat) => tenant.send(chat)],
    ['a send as a stream', (chat) => tenant.send(chat, { stream: true })],
    ['a history', (_, path) => client.get(`${path}/messages?external_user_id=ann`)],
    ['a stop', (_, path) => client.post(`${path}/stop`, {})],
    ['a rating', (_, path, reply) => client.post(`${path}/messages/${reply}/feedbacks`, rating)],
  ])('%s', async (_what, call) => {
    const chat = await createChat();
    dataOf(await tenant.send(chat));
    const reply = (await tenant.history(chat))[1]?.id ?? 0;
    dataOf(await client.delete(`/chats/${chat.id}`));
    expect(summaryOf(await call(chat, `/chats/${chat.id}`, reply))).toBe(notFound);
  });

  it('a batch', async () => {
    const { id } = await createChat();
    dataOf(await client.delete(`/chats/${id}`));
    const requests = [{ custom_id: 'a', message: 'Hi', history_id: id }];
    expect(summaryOf(await client.post('/batches', { agent_id: tenant.agentId, requests }))).toBe(
      '404/10003 requests[0].history_id: Chat not found',
    );
  });

  it('a repeated request with an Idempotency-Key', async () => {
    const keyed = (path: string, body: object) =>
      client.post<ChatResource>(
        path,
        { agent_id: tenant.agentId, ...body },
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
