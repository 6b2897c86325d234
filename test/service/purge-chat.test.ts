import { expect, it, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { ChatResource } from '#contract/chat.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { countLargeTexts } from '#support/file-bucket.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { messageItems } from '#support/seed.ts';
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
  const late = messageItems({ workspaceId, chatId: chat.id, first: 3, count: 2, content: () => 'Late' });
  const deletedAt = new Date(Date.now() - 21 * 60_000).toISOString();
  const purge = keys.operatorsPurge(deletedAt, workspaceId, chat.id);
  const ids = { workspace_id: workspaceId, chat_id: chat.id };
  await table.writeItems([...late]);
  await table.writeItems([{ ...purge, ...ids, deleted_at: deletedAt, due_at: 0 }]);
  await expect.poll(() => table.read(purge), waiting).toBeUndefined();
  expect(await storedFor(tenant, chat.id)).toEqual(['CHAT']);
});
