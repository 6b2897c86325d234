import { expect, it } from 'vitest';
import type { ApiResponse } from '#support/client.ts';
import { replyWith } from '#support/model-server.ts';
import { contentsOf, createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, tenant, client } = await useScriptedService({
  maxConcurrency: 4,
  faults: { transactionConflicts: true },
});

const inProgress = {
  status: 400,
  body: { data: null, error_code: 10006, message: 'A reply is already in progress for this chat' },
};

it('refuses a second message while the first is answered, and leaves nothing of it', async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('first');
  const events = stepThrough(await client.stream(chatId, { message: 'first', agent_id: tenant.agentId }));
  const call = await called;
  expect(await events.next()).toMatchObject({ type: 'response.created' });
  for (const stream of [true, false])
    expect(await send(client, tenant, chatId, 'second', { stream })).toMatchObject(inProgress);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['first']);
  replyWith(call, 'Done');
  // The chat lease is released before the client receives the completed event.
  for (let event = await events.next(); event !== '[DONE]'; event = await events.next())
    if (event?.type === 'response.output_text.completed')
      expect((await send(client, tenant, chatId, 'third')).status).toBe(200);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['first', 'Done', 'third', 'Hello']);
});

it.each([2, 10])('lets one of %i messages sent at once win', async (count) => {
  const chatId = await createChat(client, tenant);
  await send(client, tenant, chatId, 'before');
  const message = `race of ${count}`;
  const called = callFor(message);
  const calls = model.calls.length;
  const rejected: ApiResponse[] = [];
  const sending = Array.from({ length: count }, async () => {
    const response = await send(client, tenant, chatId, message);
    if (response.status !== 200) rejected.push(response);
    return response;
  });
  const call = await called;
  call.chunk('Won');
  // The model finishes the winner's reply only after all others have their responses.
  await expect.poll(() => rejected.length).toBe(count - 1);
  call.finish();
  const won = (await Promise.all(sending)).filter(({ status }) => status === 200);
  expect(won.map(({ body }) => body.data)).toEqual(['Won']);
  for (const response of rejected) expect(response).toMatchObject(inProgress);
  expect(model.calls.length - calls).toBe(1);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['before', 'Hello', message, 'Won']);
});

it('keeps every pair together when many clients talk in one chat as fast as they can', async () => {
  const chatId = await createChat(client, tenant);
  const sent: string[] = [];
  const talk = async (name: string) => {
    for (let turn = 0; turn < 3; ) {
      const message = `${name} ${turn}`;
      const response = await send(client, tenant, chatId, message);
      if (response.status === 200) {
        sent.push(message);
        turn += 1;
      } else expect(response).toMatchObject(inProgress);
    }
  };
  await Promise.all(['one', 'two', 'three'].map(talk));
  const contents = contentsOf(await historyOf(client, chatId));
  expect(contents.filter((_, index) => index % 2 === 0).sort()).toEqual(sent.sort());
  expect(contents.filter((_, index) => index % 2 === 1)).toEqual(sent.map(() => 'Hello'));
});

it('answers in many chats at once', async () => {
  const chats = await Promise.all(Array.from({ length: 8 }, () => createChat(client, tenant)));
  const responses = await Promise.all(chats.map((chatId) => send(client, tenant, chatId, `in ${chatId}`)));
  expect(responses.map(({ status }) => status)).toEqual(chats.map(() => 200));
  for (const chatId of chats)
    expect(contentsOf(await historyOf(client, chatId))).toEqual([`in ${chatId}`, 'Hello']);
});
