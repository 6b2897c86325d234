import { expect, test } from 'vitest';
import { ChatBatchClient } from '#lib/client/index.ts';
import { callsByMessage } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';
import openApi from '../../docs/openapi.json' with { type: 'json' };

const { service, tenant, model } = await useScriptedService();
model.onCall = (call) => {
  call.chunk('Hello');
  call.finish();
};
const callFor = callsByMessage(model);

/** Requests as `GET /chats/{chat_id}`. */
const sent = new Set<string>();
const templates = Object.keys(openApi.paths).map(
  (path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const,
);
const client = new ChatBatchClient({
  baseUrl: service.baseUrl,
  apiKey: tenant.apiKey,
  externalUserId: 'ada',
  fetch: (address, init) => {
    const path = String(address).slice(service.baseUrl.length).replace(/\?.*/, '');
    const matching = templates.filter(([template, pattern]) => template === path || pattern.test(path));
    const [template] = matching.find(([found]) => found === path) ?? matching[0] ?? [path];
    sent.add(`${init?.method} ${template}`);
    return fetch(address, init);
  },
});
const agent_id = tenant.agentId;

test('every operation of the document can be called', async () => {
  const [agent] = await client.agents.list();
  expect(agent?.id).toBe(agent_id);
  const { data: chat, requestId } = await client.chats.create({ name: 'First', agent_id }).withResponse();
  expect(requestId).toMatch(/^[\w-]{10,}$/);
  expect(chat.external_user_id).toBe('ada');
  expect((await client.chats.get(chat.id)).name).toBe('First');
  expect((await client.chats.update(chat.id, { name: 'Second' })).name).toBe('Second');
  expect((await client.chats.list()).data.map(({ id }) => id)).toEqual([chat.id]);
  const file = await client.files.upload(new File(['One, two'], 'numbers.txt'), { scope: 'ephemeral' });
  const unused = await client.files.upload(new File(['Three'], 'unused.txt'));
  expect(await client.files.delete(unused.uuid)).toEqual({ uuid: unused.uuid, deleted: true });
  await expect(client.files.delete(unused.uuid)).rejects.toThrow('File not found');
  const sentFile = { message: 'Hi', agent_id, attached_file_uuids: [file.uuid] };
  const sentReply = await client.messages.send(chat.id, sentFile);
  const [, stored] = (await client.messages.list(chat.id)).data;
  expect(sentReply).toEqual({
    ...{ id: stored?.id, chat_id: chat.id, response_id: expect.stringMatching(/^resp_/) },
    ...{ text: 'Hello', usage: stored?.meta.token_usage },
  });
  const stream = client.messages.stream(chat.id, { message: 'Hi', agent_id, resumable: true });
  const reply = await stream.finalMessage();
  expect(reply).toMatchObject({ chat_id: chat.id, text: 'Hello', response_id: stream.responseId });
  const resumed = client.messages.resume(chat.id, { response_id: reply.response_id });
  expect(await resumed.finalMessage()).toEqual(reply);
  await client.messages.feedback(chat.id, reply.id, { type: 'sys_helpful' });
  const history = await Array.fromAsync(client.messages.list(chat.id, { limit: 1 }));
  expect(history.map(({ content }) => content)).toEqual(['Hi', 'Hello', 'Hi', 'Hello']);
  expect(history[3]).toMatchObject({ id: reply.id, feedback_counts: { sys_helpful: 1 } });

  const called = callFor('Stop me');
  const endless = client.messages.stream(chat.id, { message: 'Stop me', agent_id });
  (await called).chunk('Start');
  for await (const { type } of endless)
    if (type === 'response.output_text.delta') expect((await endless.stop()).status).toMatch(/^stopp/);
  expect(await endless.finalMessage()).toMatchObject({ text: 'Start', incomplete: 'stopped' });

  const { batches, results } = await client.batches.submitAndWait(
    { agent_id, requests: [{ custom_id: 'a', message: 'One' }] },
    { pollInterval: 50 },
  );
  expect(results).toMatchObject([{ custom_id: 'a', response_content: 'Hello' }]);
  expect((await client.batches.list()).data).toEqual(batches);
  await expect(client.batches.cancel(batches[0]?.id ?? '')).rejects.toMatchObject({ errorCode: 10006 });

  expect(await client.chats.delete(chat.id)).toEqual({ id: chat.id, deleted: true });
  expect(await client.users.erase('ada')).toMatchObject({ status: 'erasing' });
  const all = Object.entries(openApi.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...sent].toSorted()).toEqual(all.toSorted());
});

test('a message without an agent goes to the agent of its chat, which is read once if the client does not know it', async () => {
  const paths: string[] = [];
  const openClient = () =>
    new ChatBatchClient({
      baseUrl: service.baseUrl,
      apiKey: tenant.apiKey,
      fetch: (address, init) => {
        paths.push(`${init?.method} ${String(address).slice(service.baseUrl.length)}`);
        return fetch(address, init);
      },
    });
  const external_user_id = 'bob';
  const message = { message: 'Hi', external_user_id };
  const creator = openClient();
  const { id } = await creator.chats.create({ name: 'Known', agent_id, external_user_id });
  expect((await creator.messages.send(id, message)).text).toBe('Hello');
  const other = openClient();
  expect((await other.messages.stream(id, message).finalMessage()).text).toBe('Hello');
  expect((await other.messages.send(id, message)).text).toBe('Hello');
  const send = `POST /chats/${id}/messages`;
  expect(paths).toEqual(['POST /chats', send, `GET /chats/${id}?external_user_id=bob`, send, send]);
  // Another user does not learn that the chat exists.
  await expect(openClient().messages.send(id, { message: 'Hi' })).rejects.toThrow('Chat not found');
  await expect(openClient().messages.stream(id, { message: 'Hi' }).finalMessage()).rejects.toThrow(
    'Chat not found',
  );
  expect(paths.slice(5)).toEqual([`GET /chats/${id}`, `GET /chats/${id}`]);
});
