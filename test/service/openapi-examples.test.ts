import { expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { StreamEvent } from '#contract/events.ts';
import type { UploadedFile } from '#contract/message.ts';
import type { RouteName } from '#contract/routes.ts';
import {
  eventExamples,
  failedUploadExample,
  failureExamples,
  responseExampleOf,
  responseExamples,
} from '#lib/openapi/examples.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { uploadText } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

/** Objects whose fields belong to operators, tools and users. */
const freeForm = ['args', 'config', 'data', 'feedback_counts', 'meta'];

/**
 * How the fields and types of an example differ from a real value. A null says nothing about a type. Arrays are
 * compared element by element.
 * @param isFree whether the object's fields may be any
 */
function differences(example: unknown, real: unknown, path = '', isFree = false): string[] {
  if (example === null || real === null) return [];
  if (typeof example !== typeof real || Array.isArray(example) !== Array.isArray(real))
    return [`${path}: ${typeof example}, in reality ${typeof real}`];
  if (Array.isArray(example) && Array.isArray(real))
    return example.flatMap((element, index) =>
      index < real.length ? differences(element, real[index], `${path}[${index}]`) : [],
    );
  if (typeof example !== 'object' || isFree) return [];
  const [inExample, inReality] = [example, real] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(inExample), ...Object.keys(inReality)])].flatMap((key) => {
    if (!(key in inExample)) return [`${path}.${key} is only in reality`];
    if (!(key in inReality)) return [`${path}.${key} is only in the example`];
    const isEnvelope = path === '';
    const hasFreeFields = !isEnvelope && freeForm.includes(key) && !isChatOrReply(inExample, key);
    return differences(inExample[key], inReality[key], `${path}.${key}`, hasFreeFields);
  });
}

/** `meta` has fields of its own in chats and messages. */
const isChatOrReply = (owner: Record<string, unknown>, key: string): boolean =>
  key === 'meta' && ('external_user_id' in owner || 'role' in owner);

it('the examples of OpenAPI have the fields and types of real responses', async () => {
  const description = 'Looks up earlier messages.';
  const tool = { type: 'consultant_lookup', name: 'lookup', description, config: {} };
  const tenant = await openTenant(service, {
    agent: { unified_tools: [tool], suggested_questions: ['What?'], meta: { temperature: 0.2 } },
  });
  const { client, agentId: agent_id } = tenant;
  const user = { external_user_id: 'ann' };
  const request = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
    (await client.request(method, path, { body })).json();
  const upload = async (fileName: string) => (await uploadText(client, fileName)).json();

  const uploaded = (await upload('a.txt')) as { data: UploadedFile };
  const metadata = { topic: 'lamps' };
  const chat = await tenant.createChat({ ...user, metadata });
  const messages = `/chats/${chat.id}/messages`;
  const message = 'Where is the lamp?\nlookup {"query": "lamp"}';
  const body = { message, agent_id, attached_file_uuids: [uploaded.data.uuid], ...user };
  const events = (await (await client.stream(chat.id, body)).all()).filter(
    (event): event is StreamEvent => typeof event === 'object',
  );
  const history = await tenant.history(chat);
  const feedback = { type: 'sys_helpful', ...user };
  const rated = await request('POST', `${messages}/${history[1]?.id}/feedbacks`, feedback);
  const requests = [{ custom_id: 'a', message: 'Hi' }];
  const submitted = { agent_id, requests, metadata: { import: '7' } };
  const created = await client.post<BatchResource>('/batches', submitted);
  const batch = `/batches/${dataOf(created).id}`;
  await waitForBatchEnd(client, dataOf(created).id);

  const unused = (await upload('b.txt')) as { data: UploadedFile };
  const real = {
    'list-published-agents': await request('GET', '/chats/published-agents'),
    'create-chat': await request('POST', '/chats', { name: 'A', agent_id, metadata, ...user }),
    'list-chats': await request('GET', '/chats'),
    'get-chat': await request('GET', `/chats/${chat.id}?external_user_id=ann`),
    'list-messages': await request('GET', `${messages}?external_user_id=ann`),
    'send-message': await request('POST', messages, { message: 'Hi', stream: false, agent_id, ...user }),
    'upload-file': uploaded,
    'record-feedback': rated,
    'create-batch': created.body,
    'list-batches': await request('GET', '/batches'),
    'get-batch': await request('GET', batch),
    'list-batch-results': await request('GET', `${batch}/results`),
    'rename-chat': await request('PATCH', `/chats/${chat.id}`, { name: 'B', ...user }),
    'delete-file': await request('DELETE', `/chats/files/${unused.data.uuid}`),
    'delete-chat': await request('DELETE', `/chats/${chat.id}?external_user_id=ann`),
    'erase-user': await request('DELETE', '/users?external_user_id=ann'),
  };
  for (const [name, response] of Object.entries(real))
    expect(differences(responseExampleOf(name as RouteName), response), name).toEqual([]);
  const { 'cancel-batch': cancelled, 'stop-reply': stopped, ...compared } = responseExamples;
  expect(Object.keys(real)).toEqual(expect.arrayContaining(Object.keys(compared)));
  // A cancelled batch has the fields of a batch; test/service/stop-reply.test.ts has the fields of a stopped reply.
  expect(differences(cancelled, created.body)).toEqual([]);
  expect(Object.keys(stopped.data)).toEqual(['chat_id', 'response_id', 'status']);

  // A failed event has no field that another event does not show.
  const { 'response.error': failed, ...successful } = eventExamples;
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(Object.keys(successful)));
  for (const event of events) expect(differences(eventExamples[event.type], event), event.type).toEqual([]);
  expect(failed.code).toBe(10005);

  expect(differences(failedUploadExample, await upload('a.exe'))).toEqual([]);
  expect(await request('GET', '/chats/999999')).toEqual(failureExamples[404]);
  expect(await request('POST', '/chats', { name: 'A', agent_id: 'x' })).toEqual(failureExamples[400]);
});

it('a difference is found', () => {
  expect(differences({ data: { id: 1 } }, { data: { id: '1' } })).toEqual([
    '.data.id: number, in reality string',
  ]);
  expect(differences({ data: [{}] }, { data: [{ id: 1 }] })).toEqual(['.data[0].id is only in reality']);
  expect(differences({ data: { id: 1 } }, { data: {} })).toEqual(['.data.id is only in the example']);
});
