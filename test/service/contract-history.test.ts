import { beforeAll, describe, expect, it } from 'vitest';
import { dataOf, emptyList, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createDraftAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the messages of a turn', () => {
  it('have exactly the fields of the specification', async () => {
    const { createChat, send, history } = await openTenant(service);
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

  it('alternate, oldest first, and share a group that no other turn of the workspace has', async () => {
    const { createChat, send, history } = await openTenant(service);
    const chats = [await createChat(), await createChat()];
    for (const chat of chats) for (const message of ['One', 'Two']) dataOf(await send(chat, { message }));
    const [first = [], second = []] = await Promise.all(chats.map((chat) => history(chat)));
    for (const messages of [first, second]) {
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
      expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
        'One',
        'Two',
      ]);
    }
    const groups = [...first, ...second].map(({ group_id }) => group_id);
    expect(new Set(groups).size).toBe(4);
    expect(groups.filter((_group, index) => index % 2 === 0)).toEqual(
      groups.filter((_group, index) => index % 2 === 1),
    );
  });

  it('have ids that rise inside a chat and are used once in a workspace', async () => {
    const { createChat, send, history } = await openTenant(service);
    const chats = [await createChat(), await createChat()];
    for (const chat of [...chats, ...chats]) dataOf(await send(chat));
    const lists = await Promise.all(chats.map(async (chat) => (await history(chat)).map(({ id }) => id)));
    for (const ids of lists) expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    expect(new Set(lists.flat()).size).toBe(8);
    expect(lists.flat().every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true);
  });
});

it('is empty before the first message, also for an agent that cannot answer', async () => {
  const { workspaceId, client, createChat } = await openTenant(service);
  const chat = await createChat({ agent_id: await createDraftAgent(workspaceId) });
  const { body } = await client.get(`/chats/${chat.id}/messages?external_user_id=reader`);
  expect(body).toEqual(emptyList);
});

describe('order_by', () => {
  it.each([
    ['created_at', 'oldest first'],
    ['asc', 'oldest first'],
    ['-created_at', 'newest first'],
    ['desc', 'newest first'],
  ])('%s puts the %s', async (order, expected) => {
    const { client, createChat, send, history } = await openTenant(service);
    const chat = await createChat();
    dataOf(await send(chat));
    dataOf(await send(chat));
    const messages = await history(chat);
    const ordered = await client.get(`/chats/${chat.id}/messages?external_user_id=reader&order_by=${order}`);
    expect(ordered.body.data).toEqual(expected === 'oldest first' ? messages : messages.toReversed());
  });

  it('refuses another word', async () => {
    const { client, createChat } = await openTenant(service);
    const { id } = await createChat();
    const response = await client.get(`/chats/${id}/messages?external_user_id=reader&order_by=id`);
    expect(summaryOf(response)).toBe('400/10006 order_by must be one of created_at, -created_at, asc, desc');
  });
});

describe('the external user', () => {
  let tenant: OpenTenant;
  beforeAll(async () => {
    tenant = await openTenant(service);
  });

  const required =
    '400/10006 external_user_id is required, as a query parameter or in the header x-external-user-id';
  /** The response for a chat of ann, read with this user in the query or header. */
  const read = async (
    { client, createChat }: OpenTenant,
    { query, header, owner = 'ann' }: { query?: string; header?: string; owner?: string },
  ) => {
    const { id } = await createChat({ external_user_id: owner });
    const parameter = query === undefined ? '' : `?external_user_id=${encodeURIComponent(query)}`;
    return summaryOf(
      await client.get(`/chats/${id}/messages${parameter}`, {
        headers: header === undefined ? {} : { 'x-external-user-id': header },
      }),
    );
  };

  it.each([
    ['in the query', { query: 'ann' }, '200/0 success'],
    ['in the header', { header: 'ann' }, '200/0 success'],
    ['in both alike', { query: 'ann', header: 'ann' }, '200/0 success'],
    [
      'in both, different',
      { query: 'ann', header: 'bob' },
      '400/10006 external_user_id and the header x-external-user-id differ',
    ],
    ['nowhere', {}, required],
    ['empty in the query', { query: '' }, '400/10006 external_user_id must not be empty'],
    ['empty in the header', { header: '' }, '400/10006 x-external-user-id must not be empty'],
    [
      'too long in the query',
      { query: 'u'.repeat(257) },
      '400/10006 external_user_id must be at most 256 characters',
    ],
    [
      'too long in the header',
      { header: 'u'.repeat(257) },
      '400/10006 x-external-user-id must be at most 256 characters',
    ],
    ['another than the owner in the query', { query: 'bob' }, '404/10003 Chat not found'],
    ['another than the owner in the header', { header: 'bob' }, '404/10003 Chat not found'],
    ['almost the owner', { query: 'Ann' }, '404/10003 Chat not found'],
  ])('given %s', async (_how, given, expected) => {
    expect(await read(tenant, given)).toBe(expected);
  });

  it('may be Latin-1 in the header where that is no UTF-8', async () => {
    expect(await read(tenant, { header: 'ünï', owner: 'ünï' })).toBe('200/0 success');
  });

  it('may be anyone for a chat that was made without', async () => {
    const { createChat, send, history } = await openTenant(service);
    const chat = await createChat();
    dataOf(await send(chat, { external_user_id: 'ann' }));
    expect(await history(chat, 'bob')).toHaveLength(2);
  });
});

describe('a chat that cannot be read', () => {
  it.each([
    ['999999', '404/10003 Chat not found'],
    ['9007199254740991', '404/10003 Chat not found'],
    ['abc', '400/10006 chat_id must be an integer'],
    ['1.0', '400/10006 chat_id must be an integer'],
    ['%F0%9F%98%80', '400/10006 chat_id must be an integer'],
  ])('%s: %s', async (chatId, expected) => {
    const { client } = await openTenant(service);
    expect(summaryOf(await client.get(`/chats/${chatId}/messages?external_user_id=reader`))).toBe(expected);
  });

  it('does not exist only after the user is known', async () => {
    const { client } = await openTenant(service);
    expect(summaryOf(await client.get('/chats/999999/messages'))).toContain(
      '400/10006 external_user_id is required',
    );
  });
});
