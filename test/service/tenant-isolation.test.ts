import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import type { ChatResource } from '#contract/chat.ts';
import { documentedRoutes, type Route, type RouteName, routes } from '#contract/routes.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { furnishWorkspace } from '#support/furnish-workspace.ts';
import { write } from '#support/fuzz/hostile-json.ts';
import { inputNode, type Path, valid } from '#support/fuzz/schema-nodes.ts';
import { type IdLocation, idLocations } from '#support/id-locations.ts';
import { dataOf, emptyList, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const secret = 'The secret of the first workspace';
const unknownId = '00000000-0000-4000-8000-000000000000';

/**
 * A workspace with two chats, and another one with fewer chats, so that the first one's chat id does not exist there.
 * Chat ids count up inside a workspace, so the same number in another workspace would be another chat.
 */
async function openTwo() {
  const owner = await openTenant(service, { titles: false });
  await owner.createChat();
  const chat = await owner.createChat({ name: secret, external_user_id: 'ann' });
  dataOf(await owner.send(chat, { message: secret }));
  const stranger = await openTenant(service, { titles: false });
  return { owner, chat, stranger };
}

it('an error that one workspace gets is not what another gets for the same address a second later', async () => {
  const [first, second] = [await openTenant(service), await openTenant(service)];
  const chat = await second.createChat();
  const history = (user: string) => `/chats/${chat.id}/messages?external_user_id=${user}`;
  expect(summaryOf(await first.client.get(history('ann')))).toBe('404/10003 Chat not found');
  expect(await second.client.get(history('bob'))).toMatchObject({ status: 200, body: { data: [] } });
});

describe('an id of another workspace', () => {
  const marker = `secret-${crypto.randomUUID()}`;
  /** By field name: an id that does not exist. A new field with an id needs an entry here. */
  const unknownValues = {
    chat_id: 999_999,
    history_id: 999_999,
    response_id: 'resp_unknown',
    message_id: 999_999,
    agent_id: unknownId,
    batch_id: unknownId,
    attached_file_uuids: unknownId,
    uuid: unknownId,
    external_user_id: 'nobody',
    'x-external-user-id': 'nobody',
    custom_id: 'nobody-s',
    'idempotency-key': 'nobody-s',
  };
  const found = idLocations();

  let owner: Awaited<ReturnType<typeof furnishWorkspace>>;
  let stranger: Awaited<ReturnType<typeof furnishWorkspace>>;
  let ofUser: ChatResource;
  let ownedValues: typeof unknownValues;
  let before: unknown;
  beforeAll(async () => {
    owner = await furnishWorkspace(service, marker, { chatsBefore: 20 });
    stranger = await furnishWorkspace(service, 'stranger');
    const { chat_id, message_id } = owner.chats.at(-1) ?? unknownValues;
    ownedValues = {
      chat_id,
      message_id,
      history_id: chat_id,
      response_id: 'resp_unknown',
      agent_id: owner.tenant.agentId,
      batch_id: owner.batchId,
      attached_file_uuids: owner.fileUuid,
      uuid: owner.unusedFileUuid,
      external_user_id: marker,
      'x-external-user-id': marker,
      custom_id: 'id-0',
      'idempotency-key': marker,
    };
    const user = { external_user_id: marker };
    ofUser = await owner.tenant.createChat({ name: marker, ...user });
    dataOf(await owner.tenant.send(ofUser, { message: marker }));
    // The owner makes one request of each route with its own idempotency key.
    for (const { route } of found.filter(({ name }) => name === 'idempotency-key')) {
      const { text } = await send(owner, route, { headers: { 'idempotency-key': `${marker}-${route}` } });
      expect(text).toContain('"error_code":0');
    }
    const batches = dataOf(await owner.tenant.client.get<{ id: string }[]>('/batches'));
    for (const { id } of batches) await waitForBatchEnd(owner.tenant.client, id);
    before = await everythingOf(owner);
  });

  /** Sends a request of a route with the workspace's own ids, except for one location. */
  async function send(
    { tenant, chats, batchId, fileUuid }: typeof owner,
    name: RouteName,
    { parameters, query, headers }: Partial<Record<IdLocation['part'], Record<string, unknown>>>,
    location?: { path: Path; value: unknown },
  ) {
    const route: Route = routes[name];
    const own = {
      ...chats[0],
      // A chat can be deleted once.
      ...(name === 'delete-chat' && { chat_id: (await tenant.createChat()).id }),
      history_id: chats[0]?.chat_id,
      agent_id: tenant.agentId,
      batch_id: batchId,
      attached_file_uuids: fileUuid,
      external_user_id: 'someone',
      type: 'sys_helpful',
      url: 'https://localhost:8443/hook',
    };
    // Parameters are sent as texts, so only a body must match its schema.
    const sampleOf = (schema: z.ZodType, fits = (_value: unknown) => true) =>
      fc.sample(valid(inputNode(schema), own).filter(fits), { seed: 1, numRuns: 1 })[0];
    const sampleBody = () => ({
      ...(sampleOf(route.body, (value) => route.body.safeParse(value).success) as object),
      ...('stream' in (inputNode(route.body).properties ?? {}) && { stream: false }),
    });
    const given = { ...(sampleOf(route.parameters) as object), ...parameters } as Record<string, unknown>;
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(given[key]));
    const search = new URLSearchParams({
      ...('external_user_id' in route.query.shape && { external_user_id: 'someone' }),
      ...(query as Record<string, string>),
    });
    const hasBody = route.body.type !== 'unknown';
    const change = { kind: 'replace', text: JSON.stringify(location?.value) } as const;
    const text = hasBody ? write(sampleBody(), location?.path, change) : undefined;
    const response = await tenant.client.request(route.method, `${path}?${search}`, {
      headers: headers as Record<string, string>,
      ...(text !== undefined && { body: text }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Everything that the workspace can see of itself, without signed addresses, which differ each time. */
  async function everythingOf({ tenant: { client }, chats, batchId }: typeof owner): Promise<unknown> {
    const responses = await Promise.all(
      [
        ...chats.map(({ chat_id }) => `/chats/${chat_id}/messages?external_user_id=reader`),
        `/chats/${ofUser.id}/messages?external_user_id=${marker}`,
        ...['/chats?limit=1000', '/chats/published-agents', '/batches', `/batches/${batchId}/results`],
      ].map((path) => client.get(path)),
    );
    const text = JSON.stringify(responses.map(({ body }) => body));
    return JSON.parse(text.replaceAll(/"file_url":"[^"]*"/g, '"file_url":""'));
  }

  it('has a case for every place of every route that takes one, and no route was forgotten', () => {
    expect([...new Set(found.map(({ name }) => name))].sort()).toEqual(Object.keys(unknownValues).sort());
    const without = documentedRoutes
      .map(({ name }) => name)
      .filter((name) => !found.some(({ route }) => route === name));
    // These routes take no ids: tests below check their lists and files.
    expect(without).toEqual(['list-published-agents', 'upload-file', 'list-batches']);
    expect(found.length).toBeGreaterThan(20);
  });

  it.each(
    found.map(
      (location) => [`${location.route}, ${location.part} ${location.path.join('.')}`, location] as const,
    ),
  )('is answered as one that nobody has: %s', async (_what, { route, part, path, name, isList }) => {
    const responseTo = async (values: typeof unknownValues) => {
      const plain = values[name as keyof typeof unknownValues];
      const value = name === 'idempotency-key' ? `${plain}-${route}` : plain;
      const response =
        part === 'body'
          ? await send(stranger, route, {}, { path, value: isList ? [value] : value })
          : await send(stranger, route, { [part]: { [name]: value } });
      return { status: response.status, text: masked(response.text.replaceAll(String(value), 'ID')) };
    };
    const reference = await responseTo(unknownValues);
    const response = await responseTo(ownedValues);
    expect(response).toEqual(reference);
    for (const secret of [marker, owner.tenant.workspaceId, owner.tenant.apiKey])
      expect(response.text).not.toContain(secret);
  });

  it('has changed nothing of what its owner sees, whoever tried', async () => {
    expect(await everythingOf(owner)).toEqual(before);
  });

  it('is unknown also when it is that of a file, through whichever door it came', async () => {
    for (const baseUrl of [service.baseUrl, `${service.run.endpoints.gateway}/v1`]) {
      const upload = await uploaderOf({ baseUrl }, owner.tenant).file('a.txt', marker);
      const { uuid } = dataOf(upload) as { uuid: string };
      const chat = await stranger.tenant.createChat();
      const attach = async (tenant: OpenTenant, to: typeof chat) =>
        summaryOf(await tenant.send(to, { attached_file_uuids: [uuid] }));
      expect(await attach(stranger.tenant, chat)).toBe(
        '400/10006 attached_file_uuids[0] is not a file of this workspace',
      );
      expect(await attach(owner.tenant, await owner.tenant.createChat())).toBe('200/0 success');
    }
  });
});

/** A response without the parts that always differ: new ids, times, and replies, which mention their turn. */
const masked = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"id":\d+/g, '"id":0')
    .replace(/"data":"(?:[^"\\]|\\.)*"/, '"data":"REPLY"');

it('a stranger’s lists hold nothing of others', async () => {
  const { owner, stranger } = await openTwo();
  for (const query of ['', '?external_user_id=ann'])
    expect((await stranger.client.get(`/chats${query}`)).body).toEqual(emptyList);
  const agents = await stranger.client.get<{ id: string; workspace_id: string }[]>('/chats/published-agents');
  expect(agents.body.data.map(({ id }) => id)).toEqual([stranger.agentId]);
  expect(JSON.stringify(agents.body)).not.toContain(owner.workspaceId);
});

it('the same chat id names each workspace’s own chat', async () => {
  const { owner, chat, stranger } = await openTwo();
  await stranger.createChat();
  const own = await stranger.createChat({ external_user_id: 'ann' });
  dataOf(await stranger.send(own, { message: 'My own' }));
  expect((await stranger.history(own)).map(({ content }) => content)[0]).toBe('My own');
  expect((await owner.history(chat)).map(({ content }) => content)[0]).toBe(secret);
  const path = `/chats/${own.id}/messages/${(await stranger.history(own))[1]?.id}/feedbacks`;
  dataOf(await stranger.client.post(path, { type: 'sys_helpful', external_user_id: 'ann' }));
  expect((await owner.history(chat)).map(({ feedback_counts }) => feedback_counts)).toEqual([{}, {}]);
  expect(own.id).toBe(chat.id);
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
