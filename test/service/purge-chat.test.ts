import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResultResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { UploadedFile } from '#contract/message.ts';
import { resultsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { countLargeTexts, fileBucketOf, preparedKeysOf } from '#support/file-bucket.ts';
import { pngOf } from '#support/image-bytes.ts';
import { postWithKey } from '#support/keyed-requests.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { callsOf } from '#support/operation-calls.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';

// The reconciler runs each second.
const {
  callFor,
  service,
  tenant: scripted,
} = await useScriptedService({ timer: quickTimer, recordCalls: true });
const table = closeAfterTests(dataTableOf(service));
const waiting = { timeout: 60_000, interval: 500 };

/** The last run of a purge, for a deletion twenty minutes ago. */
async function purgeLastOf({ workspaceId }: OpenTenant, chat: ChatResource): Promise<void> {
  const deletedAt = new Date(Date.now() - 21 * 60_000).toISOString();
  const purge = keys.operatorsPurge(deletedAt, workspaceId, chat.id);
  const ids = { workspace_id: workspaceId, chat_id: chat.id };
  await table.writeItems([{ ...purge, ...ids, deleted_at: deletedAt, due_at: 0 }]);
  await expect.poll(() => table.read(purge), waiting).toBeUndefined();
}

async function talkAndRate(tenant: OpenTenant): Promise<ChatResource> {
  const chat = await tenant.createChat();
  dataOf(await tenant.send(chat));
  const reply = (await tenant.history(chat))[1]?.id;
  const feedback = { external_user_id: 'ann', type: 'sys_helpful' };
  dataOf(await tenant.client.post(`/chats/${chat.id}/messages/${reply}/feedbacks`, feedback));
  return chat;
}

it('leaves nothing of a deleted chat, and everything of its neighbour', async () => {
  const tenant = await openTenant(service, { titles: false });
  const [chat, neighbour] = [await talkAndRate(tenant), await talkAndRate(tenant)];
  const before = await table.storedFor(tenant, neighbour.id);
  expect(before.toSorted()).toEqual(['CHAT', 'M#0000001', 'M#0000002', 'M#0000002#FEEDBACK', 'ann']);
  const { dynamodb } = await callsOf(service, async () => {
    dataOf(await tenant.client.delete(`/chats/${chat.id}`));
    await expect.poll(() => table.storedFor(tenant, chat.id), waiting).toEqual([]);
  });
  // A fifth query would look for events, which only a resumable reply has.
  expect(dynamodb.Query).toBe(4);
  expect(await table.storedFor(tenant, neighbour.id)).toEqual(before);
  expect(await tenant.history(neighbour)).toHaveLength(2);
});

it('deletes the events of resumable replies, also of one in progress', async () => {
  const chat = await scripted.createChat();
  const stream = async (message: string) => {
    const called = callFor(message);
    const body = { message, agent_id: scripted.agentId, resumable: true };
    const events = stepThrough(await scripted.client.stream(chat.id, body));
    await events.next();
    (await called).chunk('Text');
    await events.next();
    return { events, call: await called };
  };
  const first = await stream('Ends');
  first.call.finish();
  await first.events.rest();
  const second = await stream('Goes on');
  const storedEvents = async () =>
    (await table.readAll()).filter(({ pk }) => String(pk).includes(`#C#${chat.id}#E#`));
  // A reply stores its events every second. None may be under way at the deletion: only the second run of the purge deletes it.
  const repliesWithText = async () =>
    new Set(
      (await storedEvents()).filter(({ sk }) => Number.parseInt(String(sk), 10) >= 1).map(({ pk }) => pk),
    ).size;
  await expect.poll(repliesWithText, waiting).toBe(2);
  dataOf(await scripted.client.delete(`/chats/${chat.id}`));
  await expect.poll(storedEvents, waiting).toEqual([]);
  second.call.finish();
  await second.events.rest();
});

it('deletes texts that are too large for the table', async () => {
  const chat = await scripted.createChat();
  void callFor('Much, please').then((call) => replyWith(call, 'r'.repeat(310_000)));
  dataOf(await scripted.send(chat, { message: 'Much, please' }));
  expect(await countLargeTexts(service, scripted.workspaceId)).toBe(1);
  dataOf(await scripted.client.delete(`/chats/${chat.id}`));
  await expect.poll(() => countLargeTexts(service, scripted.workspaceId), waiting).toBe(0);
});

it('erases the texts of batch requests of the chat, whose results keep ids and status', async () => {
  const tenant = await openTenant(service, { titles: false });
  const { client, workspaceId } = tenant;
  const history = await tenant.createChat();
  const requests = [
    { custom_id: 'a', message: 'For a chat of its own', name: 'Of its own' },
    { custom_id: 'b', message: 'For an existing chat', history_id: history.id },
    { custom_id: 'c', message: 'For another chat' },
  ];
  const batch = await submit(client, tenant, requests);
  await waitForBatchEnd(client, batch.id);
  const read = () => resultsOf(client, batch.id);
  const [first, second, third] = await read();
  for (const result of [first, second])
    dataOf(await client.delete(`/chats/${(result as BatchResultResource).history_id}`));
  const group = keys.batchRequests(workspaceId, batch.id, 0);
  const textsOf = async () => {
    const { requests: stored = [] } = (await table.read(group)) ?? {};
    return (stored as { message: string; name?: string }[]).map(({ message, name }) => name ?? message);
  };
  await expect.poll(textsOf, waiting).toEqual(['', '', 'For another chat']);
  await expect.poll(() => table.storedFor(tenant, history.id), waiting).toEqual([]);
  const gone = { response_content: null };
  await expect.poll(read, waiting).toEqual([{ ...first, ...gone }, { ...second, ...gone }, third]);
});

it('fails a batch request that waits for a request on the chat, whose reply comes all the same', async () => {
  const { id } = await scripted.createChat();
  const called = callFor('runs');
  const requests = ['runs', 'waits'].map((message) => ({ custom_id: message, message, history_id: id }));
  const batch = await submit(scripted.client, scripted, requests);
  const call = await called;
  dataOf(await scripted.client.delete(`/chats/${id}`));
  replyWith(call, 'Too late');
  await waitForBatchEnd(scripted.client, batch.id);
  const failed = { status: 'failed', error_code: 400, error_message: 'Chat not found', history_id: id };
  const results = await resultsOf(scripted.client, batch.id);
  expect(results).toMatchObject([{ status: 'success', history_id: id }, failed]);
});

describe('files', () => {
  const unknownFile = '400/10006 attached_file_uuids[0] is not a file of this workspace';
  const bucket = fileBucketOf(service);
  const openSeeing = () =>
    openTenant(service, { model: 'openai:test', titles: false, agent: { meta: { vision: true } } });

  async function upload(tenant: OpenTenant, name: string, content: string | Uint8Array, type: string) {
    return (dataOf(await uploaderOf(service, tenant).file(name, content, { type })) as UploadedFile).uuid;
  }

  /** What is stored of the tenant's files: objects, prepared content, and items of files and of chats. */
  async function storedFiles({ workspaceId }: OpenTenant) {
    const items = await table.readAll();
    return {
      objects: (await bucket.keysOf(workspaceId)).objects.length,
      prepared: (await preparedKeysOf(service, workspaceId)).toSorted(),
      items: items
        .filter(({ pk, sk }) => String(pk).startsWith(`W#${workspaceId}#`) && `${pk} ${sk}`.includes('FILE#'))
        .map(({ sk }) => sk)
        .toSorted(),
    };
  }

  it('are erased with the chat that attaches them, often and in each way to send', async () => {
    const tenant = await openSeeing();
    const chat = await tenant.createChat();
    const image = pngOf({ width: 9000, height: 90 }, (line) => void line.fill(255));
    const uuids = [
      await upload(tenant, 'a.txt', 'The text', 'text/plain'),
      await upload(tenant, 'b.png', image, 'image/png'),
    ] as [string, string];
    const body = { message: 'Hi', stream: false, agent_id: tenant.agentId, attached_file_uuids: uuids };
    dataOf(await tenant.send(chat, body));
    for (const key of ['One', 'Other'])
      dataOf(await postWithKey(tenant, { path: `/chats/${chat.id}/messages`, body }, key));
    const registered = uuids.map((uuid) => `FILE#${uuid}`);
    const prepared = [`${uuids[0]}/content.json`, `${uuids[1]}/content.json`, `${uuids[1]}/image`].toSorted();
    const inChat = `CHAT#${chat.id}`;
    expect(await storedFiles(tenant)).toEqual({
      ...{ objects: 2, prepared },
      items: [...registered, 'FILE', 'FILE', inChat, inChat].toSorted(),
    });

    dataOf(await tenant.client.delete(`/chats/${chat.id}`));
    const remaining = { objects: 0, prepared: [], items: registered.toSorted() };
    await expect.poll(() => storedFiles(tenant), waiting).toEqual(remaining);
    await purgeLastOf(tenant, chat);
    expect(await storedFiles(tenant)).toEqual({ ...remaining, items: [] });
    const other = await tenant.createChat();
    expect(summaryOf(await tenant.send(other, { attached_file_uuids: uuids }))).toBe(unknownFile);
    expect(await tenant.history(other)).toEqual([]);
  });
});
