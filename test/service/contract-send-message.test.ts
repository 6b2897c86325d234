import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { UploadedFile } from '#contract/message.ts';
import { dataTableOf } from '#support/data-table.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createPublishedAgent } from '#support/service.ts';
import { contentsOf } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, service } = await useScriptedService();

const unknownId = '00000000-0000-4000-8000-000000000000';
const byteLimit = 256 * 1024;
const unknownFile = '400/10006 attached_file_uuids[0] is not a file of this workspace';
const tenant = await openTenant(service, { titles: false });
const { client, agentId, createChat, send, history } = tenant;

describe('with stream false', () => {
  it('answers the reply as a string, and nothing else', async () => {
    const chat = await createChat();
    const { status, headers, body } = await send(chat, { message: 'What is this?' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(body).toEqual({ data: expect.stringContaining('“What is this?”'), message: null, error_code: 0 });
    const messages = await history(chat);
    expect(contentsOf(messages)).toEqual(['What is this?', body.data]);
    expect(headers.get('x-message-id')).toBe(String(messages[1]?.id));
    expect(headers.get('x-response-id')).toMatch(/^resp_./);
    const usage = JSON.parse(headers.get('x-token-usage') ?? '');
    expect(usage).toEqual(messages[1]?.meta.token_usage);
    expect(usage.total_calls).toBe(1);
  });
});

describe('message', () => {
  it.each([
    ['1 character', 'x'],
    ['256 KiB of ASCII', 'm'.repeat(byteLimit)],
    ['256 KiB in characters of four bytes', '😀'.repeat(byteLimit / 4)],
    ['only spaces', ' \n '],
    ['control characters and every script', 'a\u0000\r\n\u2028"\\ Ünïcödé 名前'],
    ['what looks like an event', 'data: [DONE]\n\nevent: x\n\n'],
  ])('may be %s, and is kept as it was sent', async (_what, message) => {
    const chat = await createChat();
    dataOf(await send(chat, { message }));
    expect((await history(chat))[0]?.content === message).toBe(true);
  });

  it.each<[message: unknown, shown: string]>([
    [undefined, 'is required'],
    ['', 'must not be empty'],
    [null, 'must be a string'],
    ['m'.repeat(byteLimit + 1), 'must be at most 262144 bytes of UTF-8'],
    [`${'😀'.repeat(byteLimit / 4)}m`, 'must be at most 262144 bytes of UTF-8'],
    ['a\ud800b', 'must be valid Unicode text'],
  ])('may not be %.40j: it %s', async (message, shown) => {
    const chat = await createChat();
    expect(summaryOf(await send(chat, { message }))).toBe(`400/10006 message ${shown}`);
    expect(await history(chat)).toEqual([]);
  });
});

describe('null', () => {
  it.each(['stream', 'attached_file_uuids', 'external_user_id'])('is as good as no %s', async (field) => {
    const chat = await createChat();
    const body = { message: 'Hi', agent_id: agentId, stream: false, [field]: null };
    const response = await client.request('POST', `/chats/${chat.id}/messages`, { body });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(
      field === 'stream' ? /^text\/event-stream/ : /^application\/json/,
    );
    await response.text();
    expect(await history(chat)).toMatchObject([{ content: 'Hi', attached_files: [] }, { role: 'assistant' }]);
  });
});

describe('a field that is wrong is refused, naming it', () => {
  it.each<[fields: Record<string, unknown>, shown: string]>([
    [{ stream: 'false' }, 'stream must be true or false'],
    [{ agent_id: undefined }, 'agent_id is required'],
    [{ agent_id: 'x' }, 'agent_id must be a UUID'],
    [{ external_user_id: 'u'.repeat(257) }, 'external_user_id must be at most 256 characters'],
    [{ attached_file_uuids: 'x' }, 'attached_file_uuids must be an array'],
    [{ attached_file_uuids: [1] }, 'attached_file_uuids[0] must be a string'],
    [{ attached_file_uuids: [unknownId, 'x'] }, 'attached_file_uuids[1] must be a UUID'],
    [{ attached_file_uuids: Array(11).fill(unknownId) }, 'attached_file_uuids must have at most 10 elements'],
    [
      { message: undefined, stream: 1, agent_id: '' },
      'message is required; stream must be true or false; agent_id must be a UUID',
    ],
  ])('%j: %s', async (fields, shown) => {
    expect(summaryOf(await send(await createChat(), fields))).toBe(`400/10006 ${shown}`);
  });

  it('takes a chat_id with leading zeros', async () => {
    const { id } = await createChat();
    const body = { message: 'Hi', agent_id: agentId, stream: false };
    for (const zeros of ['0', '0'.repeat(30)])
      expect(summaryOf(await client.post(`/chats/${zeros}${id}/messages`, body))).toBe('200/0 success');
    const history = await client.get<unknown[]>(`/chats/00${id}/messages?external_user_id=ann`);
    expect(history.body.data).toHaveLength(4);
  });

  it('ignores fields that nobody knows, and takes an agent_id in upper case and an empty list of files', async () => {
    const fields = { colour: 'red', agent_id: agentId.toUpperCase(), attached_file_uuids: [] };
    expect(summaryOf(await send(await createChat(), fields))).toBe('200/0 success');
  });
});

describe('a refusal', () => {
  it('because of a file that is erased meanwhile leaves no message, the chat free and the file unattached', async () => {
    const table = dataTableOf(service);
    const file = dataOf(await uploaderOf(service, tenant).file('a.txt', 'The text')) as UploadedFile;
    const item = keys.file(tenant.workspaceId, file.uuid);
    await table.change(item, { closed: true });
    const chat = await tenant.createChat();
    for (const headers of [{}, { 'Idempotency-Key': 'One' }] as Record<string, string>[]) {
      const uuids = [file.uuid];
      const body = { message: 'Hi', stream: false, agent_id: tenant.agentId, attached_file_uuids: uuids };
      expect(summaryOf(await client.post(`/chats/${chat.id}/messages`, body, { headers }))).toBe(unknownFile);
    }
    expect(await tenant.history(chat)).toEqual([]);
    for (const key of [
      keys.chatOfFile(tenant.workspaceId, file.uuid, chat.id),
      keys.fileOfChat(tenant.workspaceId, chat.id, file.uuid),
    ])
      expect(await table.read(key)).toBeUndefined();
    expect(summaryOf(await tenant.send(chat))).toBe('200/0 success');
    table.close();
  });
});

describe('while a reply is in progress', () => {
  it('refuses another for the same chat, after everything else that it could refuse', async () => {
    const scripted = await openTenant(service, { model: model.sharedName });
    const agent_id = await createPublishedAgent(scripted.workspaceId);
    const chat = await scripted.createChat({ external_user_id: 'ann' });
    const called = callFor('First');
    const first = scripted.send(chat, { message: 'First' });
    const call = await called;

    for (const fields of [{ message: 'Second' }, { stream: true }]) {
      const response = await scripted.send(chat, fields);
      expect(summaryOf(response)).toBe('400/10006 A reply is already in progress for this chat');
      expect(response.headers.get('retry-after')).toBe('1');
    }
    for (const [fields, shown] of [
      [{ external_user_id: 'bob' }, '404/10003 Chat not found'],
      [{ agent_id }, '400/10006 Agent mismatch'],
      [{ attached_file_uuids: [unknownId] }, unknownFile],
    ] as const)
      expect(summaryOf(await scripted.send(chat, fields))).toBe(shown);
    expect(summaryOf(await scripted.send(await scripted.createChat()))).toBe('200/0 success');

    replyWith(call, 'Done');
    expect((await first).body.data).toBe('Done');
    expect(contentsOf(await scripted.history(chat))).toEqual(['First', 'Done']);
    expect(summaryOf(await scripted.send(chat))).toBe('200/0 success');
  });
});
