import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, clientOf } from '#support/client.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { operator, type Service, startService } from '#support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const secret = 'The secret of the first workspace';
const unknown = { chat: 999_999, message: 999_999, agent: '00000000-0000-4000-8000-000000000000' };
type Ids = typeof unknown;

/**
 * A workspace with a chat, and another whose chats are fewer, so that it has none of the first one's chat id.
 * Ids of chats count up inside a workspace: the same number in another workspace is another chat.
 */
async function openTwo() {
  const owner = await openTenant(service, { titles: false });
  await owner.createChat();
  const chat = await owner.createChat({ name: secret, external_user_id: 'ann' });
  dataOf(await owner.send(chat, { message: secret }));
  const message = (await owner.history(chat))[1]?.id ?? 0;
  const stranger = await openTenant(service, { titles: false });
  return { owner, chat, stranger, ids: { chat: chat.id, message, agent: owner.agentId } };
}

/** Every operation that takes an id, as a stranger tries it. */
const attempts: Record<string, (stranger: OpenTenant, ids: Ids) => Promise<Answer>> = {
  'creating a chat with its agent': ({ client }, { agent }) =>
    client.post('/chats', { name: 'Mine', agent_id: agent, external_user_id: 'ann' }),
  'listing the chats of its agent': ({ client }, { agent }) => client.get(`/chats?agent_id=${agent}`),
  'reading its history': ({ client }, { chat }) => client.get(`/chats/${chat}/messages?external_user_id=ann`),
  'sending to its chat and its agent': ({ client }, { chat, agent }) =>
    client.post(`/chats/${chat}/messages`, {
      message: 'Hi',
      stream: false,
      agent_id: agent,
      external_user_id: 'ann',
    }),
  'sending to its chat with an own agent': ({ client, agentId }, { chat }) =>
    client.post(`/chats/${chat}/messages`, {
      message: 'Hi',
      stream: false,
      agent_id: agentId,
      external_user_id: 'ann',
    }),
  'rating its reply': ({ client }, { chat, message }) =>
    client.post(`/chats/${chat}/messages/${message}/feedbacks`, {
      type: 'sys_helpful',
      external_user_id: 'ann',
    }),
};

describe.each(Object.entries(attempts))('%s', (_name, attempt) => {
  it('is answered as if it did not exist, and changes nothing', async () => {
    const { owner, chat, stranger, ids } = await openTwo();
    const before = [await owner.history(chat), (await owner.client.get('/chats')).body];
    const answer = await attempt(stranger, ids);
    const reference = await attempt(stranger, unknown);
    expect(summaryOf(answer)).toBe(summaryOf(reference));
    expect(answer.body.data).toEqual(reference.body.data);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
    expect([await owner.history(chat), (await owner.client.get('/chats')).body]).toEqual(before);
  });
});

it('a stranger’s lists hold nothing of others', async () => {
  const { owner, stranger } = await openTwo();
  expect((await stranger.client.get('/chats')).body).toMatchObject({
    data: [],
    pagination: { total_records: 0 },
  });
  expect((await stranger.client.get('/chats?external_user_id=ann')).body.data).toEqual([]);
  const agents = await stranger.client.get<{ id: string; workspace_id: string }[]>('/chats/published-agents');
  expect(agents.body.data.map(({ id }) => id)).toEqual([stranger.agentId]);
  expect(JSON.stringify(agents.body)).not.toContain(owner.workspaceId);
});

it('the same chat id names each workspace’s own chat', async () => {
  const { owner, chat, stranger, ids } = await openTwo();
  await stranger.createChat();
  const own = await stranger.createChat({ external_user_id: 'ann' });
  dataOf(await stranger.send(own, { message: 'My own' }));
  expect((await stranger.history(own)).map(({ content }) => content)[0]).toBe('My own');
  expect((await owner.history(chat)).map(({ content }) => content)[0]).toBe(secret);
  dataOf(
    await stranger.client.post(
      `/chats/${own.id}/messages/${(await stranger.history(own))[1]?.id}/feedbacks`,
      {
        type: 'sys_helpful',
        external_user_id: 'ann',
      },
    ),
  );
  expect((await owner.history(chat)).map(({ feedback_counts }) => feedback_counts)).toEqual([{}, {}]);
  expect(ids.chat).toBe(chat.id);
});

it('a stranger’s own chat cannot be answered by another’s agent', async () => {
  const { owner, stranger } = await openTwo();
  const own = await stranger.createChat();
  expect(summaryOf(await stranger.send(own, { agent_id: owner.agentId }))).toBe('404/10003 Agent not found');
  expect(await stranger.history(own)).toEqual([]);
});

it('disabling a workspace leaves the others as they were', async () => {
  const { owner, stranger } = await openTwo();
  await operator().workspaces.update(owner.workspaceId, { enabled: false });
  expect(summaryOf(await owner.client.get('/chats'))).toBe('403/10001 Access denied');
  expect(summaryOf(await stranger.client.get('/chats'))).toBe('200/0 success');
});

it('a workspace cannot be named by a client: only its key decides', async () => {
  const { owner, stranger } = await openTwo();
  const { body } = await clientOf(service, stranger).get<unknown[]>(
    `/chats?workspace_id=${owner.workspaceId}&workspaceId=${owner.workspaceId}`,
    { headers: { 'x-workspace-id': owner.workspaceId } },
  );
  expect(body.data).toEqual([]);
});
