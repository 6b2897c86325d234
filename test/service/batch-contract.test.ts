import { describe, expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { UploadedFile } from '#contract/message.ts';
import { type BatchTenant, openBatchTenant } from '#support/batch-tenant.ts';
import { type RequestFields, requestsOf } from '#support/batches.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import { createPublishedAgent } from '#support/service.ts';
import { createChat } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const open = (options = {}) => openBatchTenant(service, { model: 'demo', ...options });
const tenant = await open();

const unknownId = '00000000-0000-4000-8000-000000000000';
const post = (fields: Record<string, unknown>, by: BatchTenant = tenant) =>
  by.client.post<BatchResource>('/batches', {
    agent_id: by.agentId,
    requests: requestsOf(1),
    ...fields,
  });
const postOne = (fields: RequestFields) => post({ requests: requestsOf(1, () => fields) });

it('takes a batch in with 202, in progress, nothing counted yet', async () => {
  const { status, body } = await post({});
  expect(status).toBe(202);
  expect(body.data).toMatchObject({
    status: 'in_progress',
    agent_id: tenant.agentId,
    total_requests: 1,
    completed_requests: 0,
    failed_requests: 0,
    completed_at: null,
    cancelled_at: null,
  });
  expect(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at)).toBe(24 * 3600 * 1000);
  const ended = await tenant.end(body.data.id);
  expect(ended).toMatchObject({ status: 'completed', completed_requests: 1, cancelled_at: null });
  expect(Date.parse(ended.completed_at ?? '')).toBeGreaterThanOrEqual(Date.parse(ended.created_at));
});

it('takes null for whatever may be left out', async () => {
  const nothing = {
    agent_id: null,
    external_user_id: null,
    name: null,
    attached_file_uuids: null,
    history_id: null,
  };
  const own = await open({ titles: false });
  const summaryWith = async (webhook: unknown) =>
    summaryOf(await post({ requests: requestsOf(1, () => nothing), webhook }, own));
  expect(await summaryWith(null)).toBe('202/0 success');
  const url = 'https://nowhere.invalid/';
  expect(await summaryWith({ url, events: null, secret: null })).toBe('202/0 success');
  expect(await summaryWith({ url: null })).toBe('400/10006 webhook.url must be a string');
});

it('takes the events of a webhook up to a hundred times, and counts a million wrong ones as one problem', async () => {
  const own = await open({ titles: false });
  const summaryWith = async (count: number, event: unknown) =>
    summaryOf(
      await post({ webhook: { url: 'https://nowhere.invalid/', events: Array(count).fill(event) } }, own),
    );
  expect(await summaryWith(100, 'completed')).toBe('202/0 success');
  const tooMany = '400/10006 webhook.events must have at most 100 elements';
  expect(await summaryWith(101, 'completed')).toBe(tooMany);
  expect(await summaryWith(50_000, 5)).toBe(tooMany);
  expect(await summaryWith(1_000_000, 5)).toBe(
    '400/10006 The body has too many values: at most 60000 fields and elements together',
  );
});

describe('refuses, naming the request and the field,', () => {
  const long = 'x'.repeat(257);

  it.each<[RequestFields, string]>([
    [{ custom_id: undefined }, 'custom_id is required'],
    [{ custom_id: '' }, 'custom_id must not be empty'],
    [{ custom_id: long }, 'custom_id must be at most 256 characters'],
    [{ message: undefined }, 'message is required'],
    [{ message: '' }, 'message must not be empty'],
    [{ message: 'ä'.repeat(131_073) }, 'message must be at most 262144 bytes of UTF-8'],
    [{ agent_id: 'x' }, 'agent_id must be a UUID'],
    [{ name: '' }, 'name must not be empty'],
    [{ name: long }, 'name must be at most 256 characters'],
    [{ external_user_id: '' }, 'external_user_id must not be empty'],
    [{ attached_file_uuids: ['x'] }, 'attached_file_uuids[0] must be a UUID'],
    [{ attached_file_uuids: Array(11).fill(unknownId) }, 'attached_file_uuids must have at most 10 elements'],
    [{ history_id: 1.5 }, 'history_id must be an integer'],
    [{ agent_id: unknownId }, 'agent_id is not a published agent of this workspace'],
    [{ attached_file_uuids: [unknownId] }, 'attached_file_uuids[0] is not a file of this workspace'],
  ])('%.80j: requests[0].%s', async (fields, problem) => {
    const { status, body } = await postOne(fields);
    const message = `requests[0].${problem}`;
    expect({ status, ...body }).toEqual({ status: 400, data: null, error_code: 10006, message });
  });

  it.each(['999999', '-1', '9007199254740993', '9'.repeat(400)])(
    'a history of %s, which names no chat',
    async (history) => {
      const body = JSON.stringify({ agent_id: tenant.agentId, requests: requestsOf(1) });
      const withHistory = body.replace('"message"', `"history_id":${history},$&`);
      expect(summaryOf(await tenant.client.post('/batches', withHistory))).toBe(
        '404/10003 requests[0].history_id: Chat not found',
      );
    },
  );

  it.each<[Record<string, unknown>, string]>([
    [{ agent_id: undefined }, 'agent_id is required'],
    [{ agent_id: 'x' }, 'agent_id must be a UUID'],
    [{ agent_id: unknownId }, 'agent_id is not a published agent of this workspace'],
    [{ requests: undefined }, 'requests is required'],
    [{ requests: [] }, 'requests must have at least 1 element'],
    [{ requests: requestsOf(1001) }, 'requests must have at most 1000 elements'],
    [{ requests: ['x'] }, 'requests[0] must be an object'],
    [
      { requests: requestsOf(5, (index) => ({ custom_id: `id-${index % 3}` })) },
      'requests[3].custom_id is the same as that of requests[0]',
    ],
    [
      { requests: [{ custom_id: 'a' }, { message: 'b' }] },
      'requests[0].message is required; requests[1].custom_id is required',
    ],
  ])('%.80j: %s', async (fields, message) => {
    expect(summaryOf(await post(fields))).toBe(`400/10006 ${message}`);
  });
});

it('takes a body of nearly 6 MB, and names the limit to a larger one', async () => {
  const other = await open();
  const requests = requestsOf(23, (index) => ({ message: `${index}`.padEnd(256 * 1024, 'x') }));
  expect(JSON.stringify(requests).length).toBeLessThan(6 * 1024 * 1024);
  await other.checkWhole(await other.run(requests), requests);
  const larger = await post({ requests: requestsOf(25, () => ({ message: 'x'.repeat(256 * 1024) })) }, other);
  expect(summaryOf(larger)).toMatch(/^400\/10006 .*6 MB/);
});

it('gives every kind of request its own chat, agent, name, user and files, and continues histories', async () => {
  const own = await open();
  const second = await createPublishedAgent(own.workspaceId, { name: 'Second' });
  const history = await createChat(own.client, own, { name: 'Old' });
  const file = dataOf(await uploaderOf(service, own).file('a.txt', 'Some text')) as UploadedFile;
  const requests: RequestFields[] = [
    { custom_id: 'plain', message: 'One' },
    { custom_id: 'named', message: 'Two', name: 'A name', external_user_id: 'ada', agent_id: second },
    { custom_id: 'files', message: 'Three', attached_file_uuids: [file.uuid] },
    { custom_id: 'first', message: 'Four', history_id: history },
    { custom_id: 'second', message: 'Five', history_id: history },
  ];
  const batch = await own.run(requests);
  const results = await own.checkEnded(batch, requests);
  expect(results.map(({ status }) => status)).toEqual(Array(5).fill('success'));
  const chats = dataOf(
    await own.client.get<{ id: number; name: string; meta: unknown; external_user_id: string | null }[]>(
      '/chats',
    ),
  );
  const chatOf = (index: number) => chats.find(({ id }) => id === results[index]?.history_id);
  expect(chats).toHaveLength(4);
  expect(chatOf(0)).toMatchObject({ name: 'plain', external_user_id: null });
  expect(chatOf(1)).toMatchObject({
    name: 'A name',
    meta: { external_user_id: 'ada', conversation_agent_id: second, batch_id: batch.id },
  });
  expect(chatOf(3)?.meta).not.toHaveProperty('batch_id');
  expect(chatOf(3)).toMatchObject({ id: history, name: 'Old' });
  const messagesOf = async (id: number | undefined) =>
    dataOf(
      await own.client.get<{ content: string; attached_files: UploadedFile[] }[]>(
        `/chats/${id}/messages?external_user_id=ada`,
      ),
    );
  expect((await messagesOf(chatOf(2)?.id))[0]?.attached_files).toMatchObject([{ uuid: file.uuid }]);
  expect((await messagesOf(history)).map(({ content }) => content)).toEqual([
    'Four',
    results[3]?.response_content,
    'Five',
    results[4]?.response_content,
  ]);
});
