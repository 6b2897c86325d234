import { beforeAll, describe, expect, it } from 'vitest';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const emoji = '😀';

/** A chat with one turn, and functions to rate its messages. */
async function openRatedChat(fields: Record<string, unknown> = {}) {
  const tenant = await openTenant(service, { titles: false });
  const chat = await tenant.createChat(fields);
  dataOf(await tenant.send(chat));
  const [, reply] = (await tenant.history(chat)).map(({ id }) => id);
  return {
    ...tenant,
    chat,
    reply: reply ?? 0,
    rate: (messageId: number | string, body: object, chatId: number | string = chat.id) =>
      tenant.client.post(`/chats/${chatId}/messages/${messageId}/feedbacks`, body),
    counts: async () => (await tenant.history(chat)).map(({ feedback_counts }) => feedback_counts),
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

  it.each([
    ['256 characters', 'u'.repeat(256)],
    ['256 characters of four bytes', emoji.repeat(256)],
    ['spaces, marks and control characters', ' #/%&?\u0000\n'],
  ])('may come from a user of %s', async (_what, user) => {
    const { rate, reply, counts } = await openRatedChat({ external_user_id: user });
    expect(summaryOf(await rate(reply, helpful(user)))).toBe('200/0 Feedback created');
    expect(summaryOf(await rate(reply, improve(user)))).toBe('200/0 Feedback created');
    expect(await counts()).toEqual([{}, { sys_improve: 1 }]);
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
    [{ type: 'sys_helpful', external_user_id: '' }, 'external_user_id must not be empty'],
    [{ type: 'sys_helpful', external_user_id: 5 }, 'external_user_id must be a string'],
    [helpful('u'.repeat(257)), 'external_user_id must be at most 256 characters'],
    [helpful(emoji.repeat(257)), 'external_user_id must be at most 256 characters'],
    [{ external_user_id: 'ann' }, 'type is required'],
    [{ external_user_id: 'ann', type: 'good' }, 'type must be one of sys_helpful, sys_improve'],
    [{ external_user_id: 'ann', type: 'SYS_HELPFUL' }, 'type must be one of sys_helpful, sys_improve'],
    [{ external_user_id: 'ann', type: null }, 'type must be one of sys_helpful, sys_improve'],
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

  it.each([
    ['1', 'abc', 'message_id must be an integer'],
    ['1', '1.5', 'message_id must be an integer'],
    ['a', 'b', 'chat_id must be an integer; message_id must be an integer'],
  ])('for the chat %s and the message %s', async (chatId, messageId, shown) => {
    expect(summaryOf(await rated.rate(messageId, helpful('ann'), chatId))).toBe(`400/10006 ${shown}`);
  });
});
