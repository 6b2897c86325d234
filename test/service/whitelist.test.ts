import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import type { RouteName } from '#contract/routes.ts';
import type { ApiResponse } from '#support/client.ts';
import { idLocations } from '#support/id-locations.ts';
import { type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { createDraftAgent, operator } from '#support/service.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const unknownId = '00000000-0000-4000-8000-000000000000';
const missing = '403/14103 external_user_id is required in whitelist mode';
const notListed = '403/14103 external_user_id is not on the whitelist of this workspace';

const noEnvelope = { data: null, message: null, error_code: 0 };

/** A workspace in whitelist mode that lists ann and bob, with a chat of ann that has one turn. */
async function openListed() {
  const tenant = await openTenant(service, { whitelist: ['ann', 'bob'], titles: false });
  const chat = await tenant.createChat({ external_user_id: 'ann' });
  const { client, agentId } = tenant;
  const body = { message: 'Hi', agent_id: agentId, resumable: true, external_user_id: 'ann' };
  const [created] = (await (await client.stream(chat.id, body)).all()) as StreamEvent[];
  const replyId = (await tenant.history(chat))[1]?.id ?? 0;
  const path = `/chats/${chat.id}/stream?response_id=${created?.response_id}`;
  /** Resumes a stream of the chat; its events are left out. */
  const resume = async (query: string, headers: Record<string, string> = {}): Promise<ApiResponse> => {
    const response = await client.request('GET', path + query, { headers });
    const text = await response.text();
    const envelope = response.status === 200 ? noEnvelope : (JSON.parse(text) as ApiResponse['body']);
    return { status: response.status, headers: response.headers, body: envelope };
  };
  return { ...tenant, chat, replyId, resume };
}
type Listed = Awaited<ReturnType<typeof openListed>>;

type Operation = readonly [
  route: RouteName,
  call: (listed: Listed, user: string | undefined) => Promise<ApiResponse>,
];
const inQuery = (user: string | undefined, mark = '?') =>
  user === undefined ? '' : `${mark}external_user_id=${user}`;
const inHeader = (user: string | undefined): Record<string, string> =>
  user === undefined ? {} : { 'x-external-user-id': user };
const rate = ({ client, chat, replyId }: Listed, external_user_id: unknown) =>
  client.post(`/chats/${chat.id}/messages/${replyId}/feedbacks`, { external_user_id, type: 'sys_helpful' });

/** The operations that need a listed user, as a function of the user. */
const operations = {
  'creating a chat': [
    'create-chat',
    ({ client, agentId }, external_user_id) =>
      client.post('/chats', { name: 'A', agent_id: agentId, external_user_id }),
  ],
  'sending a message': [
    'send-message',
    ({ send, chat }, external_user_id) => send(chat, { external_user_id }),
  ],
  'reading the history': [
    'list-messages',
    ({ client, chat }, user) => client.get(`/chats/${chat.id}/messages${inQuery(user)}`),
  ],
  'reading the history with the header': [
    'list-messages',
    ({ client, chat }, user) => client.get(`/chats/${chat.id}/messages`, { headers: inHeader(user) }),
  ],
  'resuming a stream': ['resume-stream', ({ resume }, user) => resume(inQuery(user, '&'))],
  'resuming a stream with the header': ['resume-stream', ({ resume }, user) => resume('', inHeader(user))],
  'reading a chat': ['get-chat', ({ client, chat }, user) => client.get(`/chats/${chat.id}${inQuery(user)}`)],
  'renaming a chat': [
    'rename-chat',
    ({ client, chat }, external_user_id) =>
      client.patch(`/chats/${chat.id}`, { name: 'A', external_user_id }),
  ],
  'deleting a chat': [
    'delete-chat',
    ({ client, chat }, user) => client.delete(`/chats/${chat.id}${inQuery(user)}`),
  ],
  'rating a reply': ['record-feedback', rate],
} satisfies Record<string, Operation>;

it('is tested with every route that takes an external user', () => {
  const tested = new Set<string>(Object.values(operations).map(([route]) => route));
  const missing = idLocations().filter(
    ({ route, name }) => /external[-_]user[-_]id$/.test(name) && !tested.has(route),
  );
  // list-chats only filters by the user, and erase-user is exempt; stop-reply.test.ts and unit/batch-ends.test.ts have
  // the others.
  expect(missing.map(({ route }) => route)).toEqual([
    'list-chats',
    'erase-user',
    'stop-reply',
    'create-batch',
  ]);
});

describe('in whitelist mode', () => {
  it.each(Object.entries<Operation>(operations))('%s needs a listed user', async (_name, [, call]) => {
    const listed = await openListed();
    expect((await call(listed, 'ann')).status).toBe(200);
    expect(summaryOf(await call(listed, 'eve'))).toBe(notListed);
    expect(summaryOf(await call(listed, 'Ann'))).toBe(notListed);
    expect(summaryOf(await call(listed, undefined))).toBe(missing);
  });
});

describe('the whitelist answers', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['empty text', ''],
    ['257 characters', 'u'.repeat(257)],
    ['half a character', '\ud800'],
    ['a number', 1],
    ['true', true],
    ['a list of a listed user', ['ann']],
    ['an object', { id: 'ann' }],
  ])('403 to %s as the user of a body', async (_what, external_user_id) => {
    const listed = await openListed();
    const { client, send, chat, agentId } = listed;
    const responses = await Promise.all([
      client.post('/chats', { name: 'A', agent_id: agentId, external_user_id }),
      send(chat, { external_user_id }),
      rate(listed, external_user_id),
    ]);
    expect(responses.map(summaryOf)).toEqual(Array(3).fill(external_user_id === null ? missing : notListed));
  });

  it('403 to a history whose user is empty, too long, or one of two that are given', async () => {
    const { client, chat } = await openListed();
    const read = (query: string, user?: string) =>
      client.get(`/chats/${chat.id}/messages${query}`, { headers: inHeader(user) });
    const responses = await Promise.all([
      read('?external_user_id='),
      read(`?external_user_id=${'u'.repeat(257)}`),
      read('', 'u'.repeat(257)),
      read('?external_user_id=ann', 'eve'),
      read('?external_user_id=eve', 'ann'),
      read('?external_user_id=ann&external_user_id=eve'),
    ]);
    expect(responses.map(summaryOf)).toEqual(Array(6).fill(notListed));
    expect(summaryOf(await read('?external_user_id=ann', 'bob'))).toBe(
      '400/10006 external_user_id and the header x-external-user-id differ',
    );
    expect(summaryOf(await read('?external_user_id=ann&external_user_id=ann'))).toBe(
      '400/10006 external_user_id is given more than once',
    );
  });

  it('before every field of the request', async () => {
    const { client, send, chat } = await openListed();
    const sendFrom = (external_user_id: string) =>
      Promise.all([
        client.post('/chats', { name: '', external_user_id }),
        send(chat, { message: '', external_user_id }),
        send(chat, { attached_file_uuids: Array(11).fill(unknownId), external_user_id }),
        client.post(
          `/chats/${chat.id}/messages`,
          { message: 'A', agent_id: unknownId, external_user_id },
          { headers: { 'idempotency-key': 'a stream has none' } },
        ),
        client.get(`/chats/${chat.id}/messages?external_user_id=${external_user_id}&limit=0`),
        client.get(`/chats/x/messages?external_user_id=${external_user_id}`),
        client.post(`/chats/${chat.id}/messages/x/feedbacks`, { external_user_id, type: 'x' }),
      ]);
    expect((await sendFrom('eve')).map(summaryOf)).toEqual(Array(7).fill(notListed));
    expect((await sendFrom('ann')).map(({ status, body }) => `${status}/${body.error_code}`)).toEqual(
      Array(7).fill('400/10006'),
    );
  });

  it('after the syntax of the body, which need be no object', async () => {
    const { client, chat } = await openListed();
    const posted = (path: string, body: string, type = 'application/json') =>
      client.post(path, body, { headers: { 'Content-Type': type } });
    for (const path of ['/chats', `/chats/${chat.id}/messages`, `/chats/${chat.id}/messages/1/feedbacks`]) {
      expect(summaryOf(await posted(path, '{'))).toBe('400/10006 The body is not valid JSON');
      expect(summaryOf(await posted(path, '{}', 'text/plain'))).toBe(
        '400/10006 Content-Type must be application/json',
      );
      for (const body of ['[]', 'null', '"ann"', '{}'])
        expect(summaryOf(await posted(path, body))).toBe(missing);
    }
  });

  it('before anything is looked for', async () => {
    const { client, workspaceId, send, chat } = await openListed();
    const draftAgentId = await createDraftAgent(workspaceId);
    const responses = await Promise.all([
      client.post('/chats', { name: 'A', agent_id: unknownId, external_user_id: 'eve' }),
      send(chat, { agent_id: unknownId, external_user_id: 'eve' }),
      send(chat, { agent_id: draftAgentId, external_user_id: 'eve' }),
      send({ ...chat, id: 999_999 }, { external_user_id: 'eve' }),
      client.get('/chats/999999/messages?external_user_id=eve'),
      client.post('/chats/999999/messages/1/feedbacks', { external_user_id: 'eve', type: 'sys_helpful' }),
    ]);
    expect(responses.map(summaryOf)).toEqual(Array(6).fill(notListed));
  });

  it('as JSON when a stream was asked for, and leaves nothing behind', async () => {
    const { client, send, chat, history } = await openListed();
    const rejected = await send(chat, { stream: true, external_user_id: 'eve' });
    expect(summaryOf(rejected)).toBe(notListed);
    await client.post('/chats', { name: 'A', agent_id: unknownId });
    expect(await history(chat)).toHaveLength(2);
    expect((await client.get('/chats')).body.pagination?.total_records).toBe(1);
  });
});

it('lists of chats and of published agents, and uploads, need no user', async () => {
  const { client, chat, agentId, apiKey } = await openListed();
  expect((await client.get<{ id: number }[]>('/chats')).body.data.map(({ id }) => id)).toEqual([chat.id]);
  expect((await client.get('/chats?external_user_id=eve')).body.data).toEqual([]);
  expect((await uploaderOf(service, { apiKey }).file('a.txt', 'A')).status).toBe(200);
  const agents = await client.get<{ id: string }[]>('/chats/published-agents');
  expect(agents.body.data.map(({ id }) => id)).toEqual([agentId]);
});

it('a list is its own workspace’s', async () => {
  await openTenant(service, { whitelist: ['eve'] });
  const listed = await openListed();
  expect(summaryOf(await operations['creating a chat'][1](listed, 'eve'))).toBe(notListed);
});

it('a chat made before the mode was switched on is open to the listed', async () => {
  const tenant: OpenTenant = await openTenant(service);
  const chat = await tenant.createChat();
  await operator().workspaces.addToWhitelist(tenant.workspaceId, ['ann']);
  await operator().workspaces.update(tenant.workspaceId, { whitelistEnabled: true });
  expect(summaryOf(await tenant.send(chat))).toBe(missing);
  expect(summaryOf(await tenant.send(chat, { external_user_id: 'eve' }))).toBe(notListed);
  expect(summaryOf(await tenant.send(chat, { external_user_id: 'ann' }))).toBe('200/0 success');
});
