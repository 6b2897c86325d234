import { describe, expect, it } from 'vitest';
import { dataOf, emptyList, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createDraftAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const { client, workspaceId, createChat, send, history } = tenant;

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

it('is empty before the first message, also for an agent that cannot answer', async () => {
  const chat = await createChat({ agent_id: await createDraftAgent(workspaceId) });
  const { body } = await client.get(`/chats/${chat.id}/messages?external_user_id=reader`);
  expect(body).toEqual(emptyList);
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
