import { expect, it, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { countLargeTexts } from '#support/file-bucket.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { messageItems } from '#support/seed.ts';
import { stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

// The reconciler runs each second.
const { callFor, service, tenant: scripted } = await useScriptedService({ timer: quickTimer });
const table = closeAfterTests(dataTableOf(service));
vi.setConfig({ testTimeout: 60_000 });
const waiting = { timeout: 40_000, interval: 100 };

/** The keys of what is stored for a chat. */
async function storedFor({ workspaceId }: OpenTenant, chatId: number): Promise<string[]> {
  const { pk } = keys.chat(workspaceId, chatId);
  const items = await table.readAll();
  return items
    .filter((item) => item.pk === pk || String(item.pk).startsWith(`${pk}#`))
    .map((item) => String(item.sk));
}

async function talkAndRate(tenant: OpenTenant): Promise<ChatResource> {
  const chat = await tenant.createChat();
  dataOf(await tenant.send(chat));
  const reply = (await tenant.history(chat))[1]?.id;
  const feedback = { external_user_id: 'ann', type: 'sys_helpful' };
  dataOf(await tenant.client.post(`/chats/${chat.id}/messages/${reply}/feedbacks`, feedback));
  return chat;
}

it('leaves the tombstone alone of a deleted chat, and everything of its neighbour', async () => {
  const tenant = await openTenant(service, { titles: false });
  const [chat, neighbour] = [await talkAndRate(tenant), await talkAndRate(tenant)];
  const before = await storedFor(tenant, neighbour.id);
  expect(before.toSorted()).toEqual(['CHAT', 'M#0000001', 'M#0000002', 'M#0000002#FEEDBACK', 'ann']);
  dataOf(await tenant.client.delete(`/chats/${chat.id}`));
  await expect.poll(() => storedFor(tenant, chat.id), waiting).toEqual(['CHAT']);
  expect(await storedFor(tenant, neighbour.id)).toEqual(before);
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
  const hasEvents = async () =>
    (await table.readAll()).filter(({ pk }) => String(pk).includes(`#C#${chat.id}#E#`)).length;
  expect(await hasEvents()).toBeGreaterThan(2);
  dataOf(await scripted.client.delete(`/chats/${chat.id}`));
  await expect.poll(hasEvents, waiting).toBe(0);
  second.call.finish();
  await second.events.rest();
});

it('deletes texts that are too large for the table', async () => {
  const chat = await scripted.createChat();
  const called = callFor('Much, please');
  const sending = scripted.send(chat, { message: 'Much, please' });
  const call = await called;
  call.chunk('r'.repeat(310_000));
  call.finish();
  dataOf(await sending);
  expect(await countLargeTexts(service, scripted.workspaceId)).toBe(1);
  dataOf(await scripted.client.delete(`/chats/${chat.id}`));
  await expect.poll(() => countLargeTexts(service, scripted.workspaceId), waiting).toBe(0);
});

it('runs again for a purge in the outbox, and ends it if the deletion was twenty minutes ago', async () => {
  const tenant = await openTenant(service, { titles: false });
  const { workspaceId } = tenant;
  const chat = await talkAndRate(tenant);
  dataOf(await tenant.client.delete(`/chats/${chat.id}`));
  await expect.poll(() => storedFor(tenant, chat.id), waiting).toEqual(['CHAT']);
  // What a reply in progress has stored after the first run.
  const further = messageItems({ workspaceId, chatId: chat.id, first: 3, count: 2, content: () => 'Late' });
  const deletedAt = new Date(Date.now() - 21 * 60_000).toISOString();
  const purge = keys.operatorsPurge(deletedAt, workspaceId, chat.id);
  const ids = { workspace_id: workspaceId, chat_id: chat.id };
  await table.writeItems([...further]);
  await table.writeItems([{ ...purge, ...ids, deleted_at: deletedAt, due_at: 0 }]);
  await expect.poll(() => table.read(purge), waiting).toBeUndefined();
  expect(await storedFor(tenant, chat.id)).toEqual(['CHAT']);
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
  const batch = dataOf(await client.post<BatchResource>('/batches', { agent_id: tenant.agentId, requests }));
  await waitForBatchEnd(client, batch.id);
  const read = async () => dataOf(await client.get<BatchResultResource[]>(`/batches/${batch.id}/results`));
  const [first, second, third] = await read();
  for (const result of [first, second])
    dataOf(await client.delete(`/chats/${(result as BatchResultResource).history_id}`));
  const group = keys.batchRequests(workspaceId, batch.id, 0);
  const textsOf = async () => {
    const { requests: stored = [] } = (await table.read(group)) ?? {};
    return (stored as { message: string; name?: string }[]).map(({ message, name }) => name ?? message);
  };
  await expect.poll(textsOf, waiting).toEqual(['', '', 'For another chat']);
  await expect.poll(() => storedFor(tenant, history.id), waiting).toEqual(['CHAT']);
  const gone = { response_content: null };
  await expect.poll(read, waiting).toEqual([{ ...first, ...gone }, { ...second, ...gone }, third]);
});
