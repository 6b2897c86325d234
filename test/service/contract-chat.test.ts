import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service, { titles: false });
const { client, agentId, createChat, send, history } = tenant;

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the messages of a turn', () => {
  it('have exactly the fields of the specification', async () => {
    const chat = await createChat();
    const reply = dataOf(await send(chat, { message: 'Hi' }));
    const messages = await history(chat);
    const [question, response] = messages;
    expect(messages).toEqual([
      {
        id: expect.any(Number),
        role: 'user',
        group_id: expect.stringMatching(/./),
        content: 'Hi',
        meta: {},
        attached_files: [],
        feedback_counts: {},
        created_at: expect.stringMatching(timestamp),
      },
      {
        id: expect.any(Number),
        role: 'assistant',
        group_id: question?.group_id,
        content: reply,
        meta: {
          reasoning_steps: [],
          token_usage: {
            total_prompt_tokens: expect.any(Number),
            total_completion_tokens: expect.any(Number),
            total_tokens: expect.any(Number),
            total_calls: 1,
            cached_prompt_tokens: 0,
          },
        },
        attached_files: [],
        feedback_counts: {},
        created_at: expect.stringMatching(timestamp),
      },
    ]);
    const usage = response?.meta.token_usage;
    expect(usage?.total_tokens).toBe(
      (usage?.total_prompt_tokens ?? 0) + (usage?.total_completion_tokens ?? 0),
    );
    expect(usage?.total_completion_tokens).toBeGreaterThan(0);
  });
});

describe('the external user', () => {
  /** The response for a chat of ann, read with this user in the query or header. */
  const read = async ({
    query,
    header,
    owner = 'ann',
  }: {
    query?: string;
    header?: string;
    owner?: string;
  }) => {
    const { id } = await createChat({ external_user_id: owner });
    const parameter = query === undefined ? '' : `?external_user_id=${encodeURIComponent(query)}`;
    return summaryOf(
      await client.get(`/chats/${id}/messages${parameter}`, {
        headers: header === undefined ? {} : { 'x-external-user-id': header },
      }),
    );
  };

  it.each([
    [{ query: 'ann' }, '200/0 success'],
    [{ header: 'ann' }, '200/0 success'],
    [{ query: 'ann', header: 'ann' }, '200/0 success'],
    [{ query: 'ann', header: 'bob' }, '400/10006 external_user_id and the header x-external-user-id differ'],
    [{}, '400/10006 external_user_id is required, as a query parameter or in the header x-external-user-id'],
    [{ query: '' }, '400/10006 external_user_id must not be empty'],
    [{ header: '' }, '400/10006 x-external-user-id must not be empty'],
    [{ query: 'u'.repeat(257) }, '400/10006 external_user_id must be at most 256 characters'],
    [{ header: 'u'.repeat(257) }, '400/10006 x-external-user-id must be at most 256 characters'],
    [{ query: 'bob' }, '404/10003 Chat not found'],
    [{ header: 'bob' }, '404/10003 Chat not found'],
    [{ query: 'Ann' }, '404/10003 Chat not found'],
  ])('given as %.60j: %s', async (given, expected) => {
    expect(await read(given)).toBe(expected);
  });

  it('may be Latin-1 in the header where that is no UTF-8', async () => {
    expect(await read({ header: 'ünï', owner: 'ünï' })).toBe('200/0 success');
  });

  it('may be anyone for a chat that was made without', async () => {
    const chat = await createChat();
    dataOf(await send(chat, { external_user_id: 'ann' }));
    expect(await history(chat, 'bob')).toHaveLength(2);
  });
});

it('a chat does not exist only after the user is known', async () => {
  expect(summaryOf(await client.get('/chats/999999/messages'))).toContain(
    '400/10006 external_user_id is required',
  );
});

const notFound = '404/10003 Chat not found';

const listed = async (by: OpenTenant): Promise<ChatResource[]> =>
  dataOf(await by.client.get<ChatResource[]>('/chats'));

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
    client.post<ChatResource>(path, { agent_id: agentId, ...body }, { headers: { 'idempotency-key': path } });
  const create = () => keyed('/chats', { name: 'A chat' });
  const { id } = dataOf(await create());
  const send = () => keyed(`/chats/${id}/messages`, { message: 'Hi', stream: false });
  dataOf(await send());
  expect(summaryOf(await create())).toBe('200/0 success');
  dataOf(await client.delete(`/chats/${id}`));
  expect(summaryOf(await create())).toBe(notFound);
  expect(summaryOf(await send())).toBe(notFound);
});

const emoji = '😀';

/** A chat with one turn, and functions to rate its messages. */
async function openRatedChat(fields: Record<string, unknown> = {}) {
  const chat = await createChat(fields);
  dataOf(await send(chat));
  const [, reply] = (await history(chat)).map(({ id }) => id);
  return {
    reply: reply ?? 0,
    rate: (messageId: number | string, body: object, chatId: number | string = chat.id) =>
      client.post(`/chats/${chatId}/messages/${messageId}/feedbacks`, body),
    counts: async () => (await history(chat)).map(({ feedback_counts }) => feedback_counts),
  };
}

const helpful = (external_user_id: string) => ({ external_user_id, type: 'sys_helpful' });
const improve = (external_user_id: string, content?: string) => ({
  external_user_id,
  type: 'sys_improve',
  ...(content !== undefined && { content }),
});

describe('feedback on a reply', () => {
  it('is confirmed without data, and counted', async () => {
    const { rate, reply, counts } = await openRatedChat();
    const { status, body } = await rate(reply, helpful('ann'));
    expect(status).toBe(200);
    expect(body).toEqual({ data: null, message: 'Feedback created', error_code: 0 });
    expect(await counts()).toEqual([{}, { sys_helpful: 1 }]);
  });

  it.each<[what: string, body: object]>([
    ['sys_helpful with null content', { ...helpful('ann'), content: null }],
    ['sys_helpful with empty content', { ...helpful('ann'), content: '' }],
    ['sys_improve without content', improve('ann')],
    ['sys_improve with content', improve('ann', 'Shorter, please')],
    ['content of 500 characters', improve('ann', 'c'.repeat(500))],
    ['content of 500 characters of two UTF-16 units', improve('ann', emoji.repeat(500))],
    ['empty content', improve('ann', '')],
    ['null content', { ...improve('ann'), content: null }],
    ['fields that nobody knows', { ...improve('ann'), colour: 'red' }],
  ])('may be %s', async (what, body) => {
    const { rate, reply, counts } = await openRatedChat();
    expect(summaryOf(await rate(reply, body))).toBe('200/0 Feedback created');
    expect(await counts()).toEqual([
      {},
      what.startsWith('sys_helpful') ? { sys_helpful: 1 } : { sys_improve: 1 },
    ]);
  });
});

describe('feedback is refused', () => {
  // Rejected requests change nothing, so all cases share one chat.
  let rated: Awaited<ReturnType<typeof openRatedChat>>;
  beforeAll(async () => {
    rated = await openRatedChat();
  });

  it.each<[body: object, shown: string]>([
    [{ type: 'sys_helpful' }, 'external_user_id is required'],
    [helpful(emoji.repeat(257)), 'external_user_id must be at most 256 characters'],
    [{ external_user_id: 'ann' }, 'type is required'],
    [{ external_user_id: 'ann', type: 'good' }, 'type must be one of sys_helpful, sys_improve'],
    [improve('ann', 'c'.repeat(501)), 'content must be at most 500 characters'],
    [improve('ann', emoji.repeat(501)), 'content must be at most 500 characters'],
    [{ ...improve('ann'), content: 5 }, 'content must be a string'],
    [{ ...helpful('ann'), content: 'Nice' }, 'content is only allowed when type is sys_improve'],
    [{ type: 'sys_helpful', external_user_id: null }, 'external_user_id must be a string'],
    [{}, 'external_user_id is required; type is required'],
  ])('%.80j: %s', async (body, shown) => {
    const { rate, reply, counts } = rated;
    expect(summaryOf(await rate(reply, body))).toBe(`400/10006 ${shown}`);
    expect(await counts()).toEqual([{}, {}]);
  });
});
