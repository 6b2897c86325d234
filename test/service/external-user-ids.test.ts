import { expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { eventOf } from '#contract/events.ts';
import { clientOf } from '#support/client.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import { allOf, pathOf } from '#support/resumable-streams.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant } = await useScriptedService();
const { agentId } = tenant;

/** Each is taken for its neighbour if it is decoded or encoded once too often, or read as a part of the address. */
const users = [
  'a/b',
  'a%2Fb',
  'a%252Fb',
  'a b',
  'a+b',
  'a%20b',
  'a&b=c',
  '..',
  '%',
  'Zoë 😀',
  'Zoe\u0308 😀',
  'zoë 😀',
  '\ufeffa b',
];
/** A stream takes as long as ten other requests. */
const resumed = ['a%2Fb', 'a+b', 'Zoë 😀'];
const notFound = '404/10003 Chat not found';

it.each([
  ['the distribution', () => service.baseUrl],
  ['the gateway itself', () => `${service.run.endpoints.gateway}/v1`],
])('every user finds its own chats through %s', async (door, address) => {
  const client = clientOf({ baseUrl: address() }, tenant);
  const check = async (name: string, index: number): Promise<void> => {
    // The doors share a workspace.
    const user = door === 'the distribution' ? name : `${name}/`;
    const other = users[(index + 1) % users.length] ?? '';
    const inQuery = `external_user_id=${encodeURIComponent(user)}`;
    // An HTTP client sends the bytes of UTF-8.
    const inHeader = { headers: { 'x-external-user-id': Buffer.from(user).toString('latin1') } };
    const ofOther = `external_user_id=${encodeURIComponent(other)}`;
    const create = async (): Promise<number> => {
      const body = { name: 'A chat', agent_id: agentId, external_user_id: user };
      return dataOf(await client.post<ChatResource>('/chats', body)).id;
    };
    const [first, second] = [await create(), await create()];

    const page = await client.get<ChatResource[]>(`/chats?limit=1&order_by=asc&${inQuery}`);
    const next = await client.get<ChatResource[]>(page.body.pagination?.next_page ?? '');
    expect(
      [...page.body.data, ...next.body.data].map(({ id, external_user_id }) => [id, external_user_id]),
    ).toEqual([
      [first, user],
      [second, user],
    ]);
    expect(next.body.pagination?.total_records).toBe(2);
    expect(dataOf(await client.get<ChatResource>(`/chats/${first}?${inQuery}`)).id).toBe(first);
    expect(dataOf(await client.get<ChatResource>(`/chats/${first}`, inHeader)).id).toBe(first);
    for (const method of ['get', 'delete'] as const)
      expect(summaryOf(await client[method](`/chats/${first}?${ofOther}`))).toBe(notFound);

    if (resumed.includes(name)) {
      const body = { message: 'Hi', agent_id: agentId, resumable: true, external_user_id: user };
      const sent = await allOf(await client.request('POST', `/chats/${first}/messages`, { body }));
      const path = pathOf(first, eventOf(sent[0] ?? '').response_id);
      expect(await allOf(await client.request('GET', `${path}&${inQuery}`))).toEqual(sent);
      expect(await allOf(await client.request('GET', path, inHeader))).toEqual(sent);
      expect(summaryOf(await client.get(`${path}&${ofOther}`))).toBe(notFound);
    }

    dataOf(await client.delete(`/chats/${first}?${inQuery}`));
    expect((await client.request('DELETE', `/chats/${second}`, inHeader)).status).toBe(200);
    const left = await client.get<ChatResource[]>(`/chats?${inQuery}`);
    expect([left.body.data, left.body.pagination?.total_records]).toEqual([[], 0]);
  };
  await Promise.all(users.map(check));
});
