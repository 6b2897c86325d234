import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { requestsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import type { ApiResponse } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import { useScriptedService } from '#support/use-service.ts';
import { startWebhookReceiver } from '#support/webhook-receiver.ts';

const logged: string[] = [];
const receiver = closeAfterTests(await startWebhookReceiver());
const { service, tenant } = await useScriptedService({
  onLog: ({ line }) => logged.push(line),
});
const { client, agentId, workspaceId, createChat } = tenant;
const table = closeAfterTests(dataTableOf(service));

const readChat = async (id: number, query = ''): Promise<ChatResource> =>
  dataOf(await client.get<ChatResource>(`/chats/${id}${query}`));
const change = (id: number, metadata: unknown, fields: Record<string, unknown> = {}) =>
  client.patch<ChatResource>(`/chats/${id}`, { metadata, ...fields });
const itemsWith = async (text: string) =>
  (await table.readAll()).filter((item) => inspect(item, { depth: null }).includes(text));
const itemOfChat = async (name: string) => (await itemsWith(name)).find((item) => item.name === name);

/** Metadata whose JSON has this many bytes: the marks `{"k":""}` are 8. */
const ofBytes = (bytes: number) => ({ k: 'x'.repeat(bytes - 8) });
const pairs = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key ${index}`, '']));

describe('the metadata of a chat', () => {
  const metadata = { order: '4711', 'ключ 😀': '', constructor: 'a', toString: 'b', '1': '\u0000"\\' };

  it('is that of its creation wherever the chat is shown', async () => {
    const chat = await createChat({ metadata });
    expect(chat.metadata).toEqual(metadata);
    expect(await readChat(chat.id)).toEqual(chat);
    const all = dataOf(await client.get<ChatResource[]>('/chats'));
    expect(all.find(({ id }) => id === chat.id)).toEqual(chat);
    const out = join(await temporaryFolder('metadata-'), 'chats.jsonl');
    await agentctlOf(service).run('chats', 'export', '--workspace', workspaceId, '--out', out);
    const lines = (await readFile(out, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toContainEqual({ type: 'chat', ...chat });
  });

  it('is none by default, and then no attribute', async () => {
    for (const given of [undefined, null, {}]) {
      const chat = await createChat({ name: `Plain ${given}`, metadata: given });
      expect(chat.metadata).toEqual({});
      expect(await itemOfChat(chat.name)).not.toHaveProperty('metadata');
    }
  });

  it('is changed pair by pair, and null removes one', async () => {
    const chat = await createChat({ name: 'Changing', metadata: { a: '1', b: '2', c: '3' } });
    const changed = dataOf(await change(chat.id, { b: null, c: 'three', d: '4', unknown: null }));
    const { updated_at } = changed;
    expect(changed).toEqual({ ...chat, metadata: { a: '1', c: 'three', d: '4' }, updated_at });
    expect(await readChat(chat.id)).toEqual(changed);
    const metadata = { a: 'one', c: 'three', d: '4' };
    const both = await change(chat.id, { a: 'one' }, { name: 'Changed' });
    expect(dataOf(both)).toMatchObject({ name: 'Changed', metadata });
    const renamed = await change(chat.id, undefined, { name: 'Renamed' });
    expect(dataOf(renamed)).toMatchObject({ name: 'Renamed', metadata });
    expect(dataOf(await change(chat.id, {}))).toMatchObject({ name: 'Renamed', metadata });
    expect(dataOf(await change(chat.id, { a: null, c: null, d: null })).metadata).toEqual({});
    expect(await itemOfChat('Renamed')).not.toHaveProperty('metadata');
    expect(dataOf(await change(chat.id, { again: '' })).metadata).toEqual({ again: '' });
  });
});

const tooMany = 'must have at most 16 pairs';
const tooLong = 'must be at most 500 bytes as JSON';
const keys = 'must have keys of 1 to 64 characters';
const wrong: [what: string, metadata: unknown, problem: string][] = [
  ['17 pairs', pairs(17), ` ${tooMany}`],
  ['501 bytes', ofBytes(501), ` ${tooLong}`],
  ['501 bytes of UTF-8', { k: `${'ä'.repeat(246)}x` }, ` ${tooLong}`],
  ['501 bytes with what JSON escapes', { k: `${'\\'.repeat(246)}x` }, ` ${tooLong}`],
  ['a key of 65 characters', { ['😀'.repeat(65)]: '' }, ` ${keys}`],
  ['an empty key', { '': '' }, ` ${keys}`],
  ['a key with half a character', { 'a\ud83d': '' }, ` ${keys}`],
  ['a value with half a character', { a: 'a\ud83d' }, '.a must be valid Unicode text'],
  ['a number as value', { a: 1 }, '.a must be a string'],
  ['an object as value', { a: {} }, '.a must be a string'],
  ['a list', [], ' must be an object'],
  ['a text', 'a', ' must be an object'],
  ['the key that objects inherit by', JSON.parse('{"__proto__":"a"}'), ' must not have the key __proto__'],
];

const requests = requestsOf(1);
describe.each<[route: string, set: (metadata: unknown) => Promise<ApiResponse<{ metadata: unknown }>>]>([
  ['POST /chats', (metadata) => client.post('/chats', { name: 'A', agent_id: agentId, metadata })],
  ['POST /batches', (metadata) => client.post('/batches', { agent_id: agentId, requests, metadata })],
  ['PATCH /chats/{chat_id}', async (metadata) => change((await createChat()).id, metadata)],
])('%s', (_route, set) => {
  it.each([
    ['16 pairs', pairs(16)],
    ['500 bytes', ofBytes(500)],
    ['500 bytes of UTF-8', { k: 'ä'.repeat(246) }],
    ['a key of 64 characters', { ['😀'.repeat(64)]: '' }],
  ])('takes %s', async (_what, metadata) => {
    expect(dataOf(await set(metadata)).metadata).toEqual(metadata);
  });

  it.each(wrong)('rejects %s', async (_what, metadata, problem) => {
    expect(summaryOf(await set(metadata))).toBe(`400/10006 metadata${problem}`);
  });
});

it('a null as value is for changes alone', async () => {
  const response = await client.post('/chats', { name: 'A', agent_id: agentId, metadata: { a: null } });
  expect(summaryOf(response)).toBe('400/10006 metadata.a must be a string');
});

it.each([
  ['pairs', pairs(16), { more: '' }, tooMany],
  ['bytes', ofBytes(500), { k: 'x'.repeat(493) }, tooLong],
  ['bytes', ofBytes(495), { a: '' }, tooLong],
])('a change may not add too many %s to those that stay, and then changes nothing', async (...entry) => {
  const [, metadata, more, problem] = entry;
  const chat = await createChat({ metadata });
  expect(summaryOf(await change(chat.id, more, { name: 'Changed' }))).toBe(`400/10006 metadata ${problem}`);
  expect(await readChat(chat.id)).toEqual(chat);
  const removed = Object.fromEntries(Object.keys(metadata).map((key) => [key, null]));
  expect(dataOf(await change(chat.id, { ...removed, more: '' })).metadata).toEqual({ more: '' });
});

it.each([{}, { metadata: null }, { name: null, metadata: null }])(
  'a change of nothing, %j, is rejected',
  async (body) => {
    const { id } = await createChat();
    const response = await client.patch(`/chats/${id}`, body);
    expect(summaryOf(response)).toBe('400/10006 name or metadata is required');
  },
);

it('the metadata of a batch is shown with it, and sent to its webhook', async () => {
  const metadata = { import: 'canary-of-batch', 'ключ 😀': '' };
  const requests = requestsOf(2);
  const created = await submit(client, tenant, requests, { metadata, webhook: { url: receiver.url } });
  expect(created.metadata).toEqual(metadata);
  const ended = await waitForBatchEnd(client, created.id);
  expect(ended).toMatchObject({ status: 'completed', metadata });
  expect(dataOf(await client.get<BatchResource[]>('/batches'))[0]).toEqual(ended);
  const [call] = await receiver.called(1);
  expect(call?.payload.data).toMatchObject({ id: created.id, metadata });
  const plain = await submit(client, tenant, requestsOf(1), { metadata: {} });
  expect(plain.metadata).toEqual({});
  const [item] = (await itemsWith(plain.id)).filter(({ sk }) => sk === 'BATCH');
  expect(item).toMatchObject({ id: plain.id });
  expect(item).not.toHaveProperty('metadata');
});

it('no log line and no metric has metadata', async () => {
  const [chat] = [await createChat({ metadata: { key: 'canary' } })];
  await change(chat.id, { 'canary-key': 'canary' });
  await change(chat.id, { 'canary-key': 1 });
  await change(chat.id, { ['canary'.repeat(20)]: '' });
  const before = logged.length;
  await readChat(chat.id);
  await expect.poll(() => logged.length).toBeGreaterThan(before);
  expect(logged.join()).toContain('create-batch');
  expect(logged.filter((line) => line.includes('canary'))).toEqual([]);
});
