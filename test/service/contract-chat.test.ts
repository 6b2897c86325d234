import { describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

describe('GET /chats/{chat_id}', () => {
  it('is the chat as it was created, and as the list has it', async () => {
    const { client, createChat } = await openTenant(service);
    const chat = await createChat({ external_user_id: 'ann' });
    const { body } = await client.get<ChatResource>(`/chats/${chat.id}?external_user_id=ann`);
    expect(body).toEqual({ data: chat, message: null, error_code: 0 });
    expect((await client.get<ChatResource[]>('/chats')).body.data).toEqual([chat]);
  });

  it('takes the user from the query or the header, which may not differ', async () => {
    const { client, createChat } = await openTenant(service);
    const { id } = await createChat({ external_user_id: 'Ännchen' });
    const read = async (query: string, user?: string) =>
      summaryOf(
        await client.get(`/chats/${id}${query}`, {
          headers: user === undefined ? {} : { 'x-external-user-id': Buffer.from(user).toString('latin1') },
        }),
      );
    const inQuery = `?external_user_id=${encodeURIComponent('Ännchen')}`;
    expect(await read(inQuery)).toBe('200/0 success');
    expect(await read('', 'Ännchen')).toBe('200/0 success');
    expect(await read(inQuery, 'Ännchen')).toBe('200/0 success');
    expect(await read(inQuery, 'bob')).toBe(
      '400/10006 external_user_id and the header x-external-user-id differ',
    );
    for (const rejected of [await read(''), await read('?external_user_id=bob'), await read('', 'bob')])
      expect(rejected).toBe('404/10003 Chat not found');
  });

  it('is open to every user if the chat has none', async () => {
    const { client, createChat } = await openTenant(service);
    const { id } = await createChat();
    for (const query of ['', '?external_user_id=ann'])
      expect(summaryOf(await client.get(`/chats/${id}${query}`))).toBe('200/0 success');
  });

  it.each(['0', '-1', '999999', '9'.repeat(30)])('%s is not found', async (id) => {
    const { client } = await openTenant(service);
    expect(summaryOf(await client.get(`/chats/${id}`))).toBe('404/10003 Chat not found');
  });

  it('rejects an id that is no integer', async () => {
    const { client } = await openTenant(service);
    expect(summaryOf(await client.get('/chats/x'))).toBe('400/10006 chat_id must be an integer');
  });
});

describe('PATCH /chats/{chat_id}', () => {
  it('gives the chat another name, and changes nothing else but the time of its update', async () => {
    const { client, createChat } = await openTenant(service);
    const chat = await createChat({ external_user_id: 'ann' });
    const renamed = dataOf(
      await client.patch<ChatResource>(`/chats/${chat.id}`, { name: '名前😀', external_user_id: 'ann' }),
    );
    expect(renamed).toEqual({ ...chat, name: '名前😀', updated_at: renamed.updated_at });
    expect(renamed.updated_at >= chat.updated_at).toBe(true);
    expect(dataOf(await client.get(`/chats/${chat.id}?external_user_id=ann`))).toEqual(renamed);
    expect((await client.get<ChatResource[]>('/chats')).body.data).toEqual([renamed]);
  });

  it('is for the user of the chat alone', async () => {
    const { client, createChat } = await openTenant(service);
    const chat = await createChat({ external_user_id: 'ann' });
    for (const external_user_id of ['bob', null, undefined])
      expect(summaryOf(await client.patch(`/chats/${chat.id}`, { name: 'B', external_user_id }))).toBe(
        '404/10003 Chat not found',
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
    const { client, createChat } = await openTenant(service);
    const { id } = await createChat();
    expect(summaryOf(await client.patch(`/chats/${id}`, body))).toMatch(message);
  });

  it('of an unknown chat creates none', async () => {
    const { client } = await openTenant(service);
    expect(summaryOf(await client.patch('/chats/7', { name: 'B' }))).toBe('404/10003 Chat not found');
    expect(summaryOf(await client.get('/chats/7'))).toBe('404/10003 Chat not found');
  });
});
