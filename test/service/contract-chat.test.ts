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
});

describe('DELETE /chats/{chat_id}', () => {
  it('answers with the id, and after that with Chat not found', async () => {
    const { id } = await createChat();
    const { body } = await client.delete(`/chats/${id}`);
    expect(body).toEqual({ data: { id, deleted: true }, message: null, error_code: 0 });
    expect(summaryOf(await client.delete(`/chats/${id}`))).toBe(notFound);
  });
});

it('a deleted chat is not found by a repeated request with an Idempotency-Key', async () => {
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
