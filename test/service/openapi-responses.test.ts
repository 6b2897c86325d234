import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { BatchResource } from '#contract/batch.ts';
import type { StreamEvent } from '#contract/events.ts';
import { documentedRoutes } from '#contract/routes.ts';
import { requestsOf, waitForBatchEnd } from '#support/batches.ts';
import { readEvents } from '#support/client.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { type ReadName, readsOf } from '#support/reads.ts';
import { uploadText } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

const service = await useService();

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];
interface Described {
  headers?: Record<string, { $ref: string } | { required?: boolean }>;
  content: Record<string, { schema: JsonSchema }>;
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
  components: { schemas: Record<string, object>; headers: Record<string, { required?: boolean }> };
}

/** The published OpenAPI document, with its references changed to those of JSON Schema. */
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8').replaceAll(
    '#/components/schemas/',
    '#/$defs/',
  ),
) as Document;

const schemaOf = (schema: JsonSchema): z.ZodType =>
  z.fromJSONSchema({ ...(schema as object), $defs: document.components.schemas } as JsonSchema);

/**
 * Headers about the transport and caching of a response, which the document need not describe. API Gateway adds its
 * own, x-amz….
 */
const headersOfHttp = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'],
  ...['transfer-encoding', 'x-accel-buffering'],
];

/** Checks a response against the document's description of its operation. */
async function checkResponse(operation: string, response: Response): Promise<void> {
  const [method = '', path = ''] = operation.split(' ');
  const described = document.paths[path]?.[method.toLowerCase()]?.responses[String(response.status)];
  if (described === undefined)
    throw new Error(`${operation} does not describe the status ${response.status}`);
  for (const [name, header] of Object.entries(described.headers ?? {}))
    if (('$ref' in header ? document.components.headers[name] : header)?.required)
      expect(response.headers.get(name)).toMatch(/./);
  const isKnown = (name: string) =>
    Object.hasOwn(described.headers ?? {}, name) || headersOfHttp.includes(name) || name.startsWith('x-amz');
  expect([...response.headers.keys()].filter((name) => !isKnown(name))).toEqual([]);
  expect(response.headers.get('cache-control')).toMatch(/^no-store/);
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const content = described.content[type];
  if (content === undefined) throw new Error(`${operation} does not describe an answer of the type ${type}`);
  const schema = schemaOf(content.schema);
  if (type === 'application/json') schema.parse(await response.json());
  else for await (const event of readEvents(response)) if (event !== '[DONE]') schema.parse(event);
}

type Calls = [status: number, call: () => Promise<Response>][];

const operations = documentedRoutes.map(({ method, path }) => `${method} ${path}`);

/** Calls of each operation: one that succeeds, and some that fail, with their statuses. */
async function callsOf() {
  const tenant = await openTenant(service, { whitelist: ['ann'] });
  const chat = await tenant.createChat({ external_user_id: 'ann' });
  dataOf(await tenant.send(chat));
  const reply = (await tenant.history(chat))[1]?.id ?? 0;
  const { agentId: agent_id } = tenant;
  const user = { external_user_id: 'ann' };
  const post = (path: string, body: unknown) => () => tenant.client.request('POST', path, { body });
  const patch = (path: string, body: unknown) => () => tenant.client.request('PATCH', path, { body });
  const remove = (path: string) => () => tenant.client.request('DELETE', path);
  const get = (path: string) => () => tenant.client.request('GET', path);
  const upload = (fileName: string) => () => uploadText(tenant.client, fileName);
  /** Its requests run one after another, so that the batch does not end before it is cancelled. */
  const cancelNew = async () => {
    const { id: history_id } = await tenant.createChat(user);
    const body = { agent_id, requests: requestsOf(100, () => ({ ...user, history_id })) };
    const { id } = dataOf(await tenant.client.post<BatchResource>('/batches', body));
    return post(`/batches/${id}/cancel`, undefined)();
  };
  const removeNew = async () => {
    const uploaded = (await (await upload('a.txt')()).json()) as { data: { uuid: string } };
    return remove(`/chats/files/${uploaded.data.uuid}`)();
  };
  const ofUnknownChat = requestsOf(1, () => ({ ...user, history_id: 999_999 }));
  const messages = `/chats/${chat.id}/messages`;
  const stream = `/chats/${chat.id}/stream`;
  const resumable = { message: 'Hi', agent_id, resumable: true, ...user };
  const [created] = (await (await tenant.client.stream(chat.id, resumable)).all()) as StreamEvent[];
  const feedbacks = `${messages}/${reply}/feedbacks`;
  const requests = requestsOf(1, () => user);
  const batch = dataOf(await tenant.client.post<BatchResource>('/batches', { agent_id, requests }));
  await waitForBatchEnd(tenant.client, batch.id);
  const request = (path: string) => get(path)();
  const [found, malformed, unknown] = [
    readsOf({ batch_id: batch.id, agent_id }, request),
    readsOf({ batch_id: 'x', agent_id: 'x' }, request),
    readsOf({ batch_id: unknownId, agent_id: unknownId }, request),
  ];
  const reads = documentedRoutes
    .filter(({ method }) => method === 'GET')
    .map(({ name, path }): [string, Calls] => {
      const read = name as ReadName;
      const success: Calls = [[200, found[read]]];
      const failures: Calls = [...success, [400, malformed[read]], [404, unknown[read]]];
      return [`GET ${path}`, path.includes('{') ? failures : success];
    });
  const calls: Record<string, Calls> = {
    ...Object.fromEntries(reads),
    'POST /chats': [
      [200, post('/chats', { name: 'A', agent_id, ...user })],
      [400, post('/chats', user)],
      [403, post('/chats', { name: 'A', agent_id })],
      [404, post('/chats', { name: 'A', agent_id: unknownId, ...user })],
    ],
    'GET /chats': [
      [200, get('/chats')],
      [400, get('/chats?limit=x')],
    ],
    'GET /chats/{chat_id}': [
      [200, get(`/chats/${chat.id}?external_user_id=ann`)],
      [400, get('/chats/x?external_user_id=ann')],
      [403, get(`/chats/${chat.id}`)],
      [404, get('/chats/999999?external_user_id=ann')],
    ],
    'PATCH /chats/{chat_id}': [
      [200, patch(`/chats/${chat.id}`, { name: 'B', ...user })],
      [400, patch(`/chats/${chat.id}`, user)],
      [403, patch(`/chats/${chat.id}`, { name: 'B' })],
      [404, patch('/chats/999999', { name: 'B', ...user })],
    ],
    'DELETE /chats/{chat_id}': [
      [200, async () => remove(`/chats/${(await tenant.createChat(user)).id}?external_user_id=ann`)()],
      [400, remove('/chats/x?external_user_id=ann')],
      [403, remove(`/chats/${chat.id}`)],
      [404, remove('/chats/999999?external_user_id=ann')],
    ],
    'DELETE /users': [
      [202, remove('/users?external_user_id=unknown')],
      [400, remove('/users')],
    ],
    'GET /chats/{chat_id}/messages': [
      [200, get(`${messages}?external_user_id=ann`)],
      [400, get('/chats/x/messages?external_user_id=ann')],
      [403, get(messages)],
      [404, get('/chats/999999/messages?external_user_id=ann')],
    ],
    'POST /chats/{chat_id}/messages': [
      [200, post(messages, { message: 'Hi', agent_id, ...user })],
      [200, post(messages, { message: 'Hi', stream: false, agent_id, ...user })],
      [400, post(messages, { agent_id, ...user })],
      [403, post(messages, { message: 'Hi', agent_id })],
      [404, post('/chats/999999/messages', { message: 'Hi', agent_id, ...user })],
    ],
    'POST /chats/{chat_id}/stop': [
      [400, post(`/chats/${chat.id}/stop`, user)],
      [403, post(`/chats/${chat.id}/stop`, {})],
      [404, post('/chats/999999/stop', user)],
    ],
    'GET /chats/{chat_id}/stream': [
      [200, get(`${stream}?response_id=${created?.response_id}&external_user_id=ann`)],
      [400, get(`${stream}?external_user_id=ann`)],
      [403, get(`${stream}?response_id=x`)],
      [404, get(`${stream}?response_id=x&external_user_id=ann`)],
    ],
    'POST /chats/{chat_id}/messages/{message_id}/feedbacks': [
      [200, post(feedbacks, { type: 'sys_helpful', ...user })],
      [400, post(feedbacks, { type: 'x', ...user })],
      [403, post(feedbacks, { type: 'sys_helpful', external_user_id: 'eve' })],
      [404, post(`${messages}/1/feedbacks`, { type: 'sys_helpful', ...user })],
    ],
    'POST /chats/upload-file': [
      [200, upload('a.txt')],
      [400, upload('a.exe')],
    ],
    'DELETE /chats/files/{uuid}': [
      [200, removeNew],
      [400, remove('/chats/files/x')],
      [404, remove(`/chats/files/${unknownId}`)],
    ],
    'POST /batches': [
      [202, post('/batches', { agent_id, requests })],
      [400, post('/batches', { agent_id, requests: [] })],
      [403, post('/batches', { agent_id, requests: requestsOf(1) })],
      [404, post('/batches', { agent_id, requests: ofUnknownChat })],
    ],
    'GET /batches': [
      [200, get('/batches')],
      [400, get('/batches?status=x')],
    ],
    'GET /batches/{batch_id}/results': [
      [200, get(`/batches/${batch.id}/results`)],
      [400, get(`/batches/${batch.id}/results?limit=x`)],
      [404, get(`/batches/${unknownId}/results`)],
    ],
    'POST /batches/{batch_id}/cancel': [
      [202, cancelNew],
      [400, post(`/batches/${batch.id}/cancel`, undefined)],
      [404, post(`/batches/${unknownId}/cancel`, undefined)],
    ],
  };
  return calls;
}

describe('what the service answers is what its OpenAPI document says', () => {
  let calls: Awaited<ReturnType<typeof callsOf>>;
  beforeAll(async () => {
    calls = await callsOf();
  });

  it.each(operations)('for %s', async (operation) => {
    expect(calls[operation]).toBeDefined();
    for (const [status, call] of calls[operation] ?? []) {
      const response = await call();
      expect(response.status).toBe(status);
      await checkResponse(operation, response);
    }
  });

  it('also when the key is wrong', async () => {
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const response = await fetch(service.baseUrl + path.replaceAll(/\{\w+\}/g, '1'), {
        method,
        headers: { 'x-api-key': 'wrong' },
      });
      expect(response.status).toBe(400);
      await checkResponse(operation, response);
    }
  });
});

it('the check can fail: it refuses an answer that the document does not describe', async () => {
  const json = (status: number, body: unknown) =>
    new Response(JSON.stringify(body), {
      status,
      headers: { 'Content-Type': 'application/json', 'x-request-id': 'r', 'Cache-Control': 'no-store' },
    });
  await expect(checkResponse('GET /chats', json(418, {}))).rejects.toThrow('the status 418');
  await expect(checkResponse('GET /chats', json(200, { data: [] }))).rejects.toThrow('pagination');
  await expect(checkResponse('GET /chats', new Response('', { status: 200 }))).rejects.toThrow();
});
