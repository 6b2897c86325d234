import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { FeedbackType } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { replyMessage } from '#support/messages.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());

const create = async (workspaceId = `ws_${randomUUID()}`): Promise<Chat> => {
  const { chats, messages } = stores;
  const chat = await chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null });
  for (const position of [2, 4]) await messages.put(chat, replyMessage(position));
  return chat;
};
const rate = (
  chat: Chat,
  externalUserId: string,
  type: FeedbackType,
  { position = 2, content = null }: { position?: number; content?: string | null } = {},
) =>
  stores.feedback.record(chat, position, {
    ...{ externalUserId, type, content },
    createdAt: '2027-01-31T12:00:00.000Z',
  });
/** By position. */
const countsOf = async (chat: Chat): Promise<Record<number, object>> => {
  const range = { first: 1, last: 4, ascending: true };
  const pages = await Array.fromAsync(stores.messages.range(chat, range));
  return Object.fromEntries(
    pages.flat().map(({ message, feedbackCounts }) => [message.position, feedbackCounts]),
  );
};

it('feedback of thirty users who rate concurrently is counted', async () => {
  const chat = await create();
  await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      rate(chat, `user-${index}`, index < 10 ? 'sys_helpful' : 'sys_improve'),
    ),
  );
  expect((await countsOf(chat))[2]).toEqual({ sys_helpful: 10, sys_improve: 20 });
});

it('feedback that one user gives ten times concurrently counts once', async () => {
  const chat = await create();
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      rate(chat, 'user-1', index % 2 === 0 ? 'sys_helpful' : 'sys_improve'),
    ),
  );
  const counts = Object.values((await countsOf(chat))[2] ?? {});
  expect(counts).toEqual([1]);
});

it('feedback of a user in chats of nobody is found and removed, which leaves the counts of the others', async () => {
  const [one, other] = [await create(), await create()];
  const { workspaceId } = one;
  const second = await create(workspaceId);
  const own = await stores.chats.create({
    workspaceId,
    agentId: 'agent-1',
    name: 'Own',
    externalUserId: 'user-1',
  });
  await stores.messages.put(own, replyMessage(2));
  for (const chat of [one, other, second, own]) await rate(chat, 'user-1', 'sys_helpful');
  await rate(one, 'user-1', 'sys_improve', { position: 4 });
  await rate(one, 'user-2', 'sys_helpful');
  const ofUser = async () =>
    (await Array.fromAsync(stores.feedback.ofUser({ workspaceId, externalUserId: 'user-1' })))
      .flat()
      .map(({ chatId, position }) => `${chatId}/${position}`)
      .toSorted();
  expect(await ofUser()).toEqual([`${one.id}/2`, `${one.id}/4`, `${second.id}/2`].toSorted());
  for (let times = 0; times < 2; times += 1) await stores.feedback.remove(one, 2, 'user-1');
  expect(await countsOf(one)).toEqual({ 2: { sys_helpful: 1 }, 4: { sys_improve: 1 } });
  expect(await ofUser()).toEqual([`${one.id}/4`, `${second.id}/2`].toSorted());
  expect(await countsOf(other)).toMatchObject({ 2: { sys_helpful: 1 } });
});
