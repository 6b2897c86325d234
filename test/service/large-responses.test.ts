import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { MessageResource } from '#contract/message.ts';
import { checkEnded, resultsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { countLargeTexts } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { largePools } from '#support/upload-endpoint.ts';
import { useScriptedService } from '#support/use-service.ts';

/** 256 characters of four bytes each. */
const name = '🗂'.repeat(256);
const user = '👤'.repeat(256);
const messageBytes = 256 * 1024;
const largeChat = 3;
const largeMessages = 160;

/** A different text for each message: 256 KiB of characters of one to four bytes. */
function largeText(position: number): string {
  const start = `${position} aé字🙂`;
  const missing = messageBytes - Buffer.byteLength(start);
  return start + '字'.repeat(Math.floor(missing / 3)) + 'a'.repeat(missing % 3);
}
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const { callFor, service, tenant, client } = await useScriptedService(
  {
    variables: {
      REPLY_BYTES: String(8 * 1024 * 1024),
      // So long that no lease is renewed after a test has ended it, even on a slow machine.
      LEASE_SECONDS: '600',
      POOL_SIZES: JSON.stringify({ ...largePools, readers: 1 }),
    },
    recordCalls: true,
    maxConcurrency: 2,
  },
  { openai: true },
);
const { workspaceId, agentId } = tenant;
const table = closeAfterTests(dataTableOf(service));
const messageCounts = { [largeChat]: largeMessages };
const seeded = { workspaceId, agentId, externalUserId: user, count: 1000, name, messageCounts };
await table.writeItems(chatItems(seeded));
const ofLargeChat = { workspaceId, chatId: largeChat, count: largeMessages, content: largeText };
await table.writeItems(messageItems(ofLargeChat));

const asUser = `external_user_id=${encodeURIComponent(user)}`;

it('waits for a slow reader instead of collecting 40 MB for it', async () => {
  // Not those for the slots of the stage.
  const isQuery = ({ target, functionName, consumed }: ReturnType<typeof service.run.dynamoCalls>[number]) =>
    target === 'Query' && functionName?.includes('ListMessages') && consumed.readUnits > 10;
  const queries = () => service.run.dynamoCalls().filter(isQuery).length;
  const before = queries();
  const response = await client.request('GET', `/chats/${largeChat}/messages?limit=1000&${asUser}`);
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  const read = async (): Promise<boolean> => {
    const chunk = await reader?.read();
    if (chunk?.value !== undefined) chunks.push(chunk.value);
    return chunk?.done !== true;
  };
  await read();
  // The client stops reading the page until ten other requests have ended without another query for the page.
  for (let quiet = 0, seen = queries(); quiet < 10; quiet += 1) {
    await client.get('/chats?limit=1');
    if (queries() !== seen) quiet = 0;
    seen = queries();
  }
  // The queries so far fit into the sockets' buffers: each returns 1 MB.
  const made = queries() - before;
  while (await read());
  const all = queries() - before;
  console.log(`a stalled reader: ${made} of ${all} queries made`);
  expect(all).toBeGreaterThanOrEqual(40);
  expect(made).toBeLessThan(all / 2);
  const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: MessageResource[] };
  expect(data.map(({ content }) => digest(content))).toEqual(
    Array.from({ length: largeMessages }, (_, index) => digest(largeText(1 + index))),
  );
});

it('keeps one paused reader of a workspace, where there is one slot, and leaves the rest to its neighbours', async () => {
  const read = () => client.request('GET', `/chats/${largeChat}/messages?limit=1000&${asUser}`);
  const readers = [await read(), await read()];
  const reading = () =>
    service.run.workers().filter(({ functionName, busy }) => busy && functionName.includes('ListMessages'))
      .length;
  expect(reading()).toBe(2);
  await vi.waitFor(() => expect(reading()).toBe(1), 60_000);
  const neighbour = await openTenant(service);
  expect((await neighbour.client.get('/chats')).status).toBe(200);
  // Whichever of the two paused first is kept.
  const pages = await Promise.allSettled(readers.map((reader) => reader.text()));
  const cut = pages.flatMap((page) => (page.status === 'rejected' ? [page.reason] : []));
  const [whole, ...others] = pages.flatMap((page) => (page.status === 'fulfilled' ? [page.value] : []));
  expect(cut).toEqual([expect.objectContaining({ message: 'terminated' })]);
  expect(others).toEqual([]);
  expect((JSON.parse(whole ?? '') as { data: unknown[] }).data).toHaveLength(largeMessages);
});

/** Sends the message of the first slot of a batch, as the reconciler does when the slot is silent. */
async function offerSlot(workspaceId: string, batchId: string): Promise<void> {
  const { slots } = (await table.read(keys.batch(workspaceId, batchId))) as { slots: { 1: { e: number } } };
  const [, QueueUrl] =
    Object.entries(service.run.physicalIds).find(([id]) => id.startsWith('BatchesRequests')) ?? [];
  const sqs = new SQSClient({ ...operatorAt(service.run.endpoints.sqs), useQueueUrlAsEndpoint: false });
  const MessageBody = JSON.stringify({ workspaceId, batchId, slot: 1, epoch: slots[1].e });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: workspaceId }));
  sqs.destroy();
}

describe('a large reply', () => {
  const large = '🙂é字 '.repeat(40_000);
  const open = () => openTenant(service, { model: 'openai:test', titles: false });

  it('stands whole among a batch’s results, and one that another worker was faster with is cleared away', async () => {
    const own = await open();
    const calls = [callFor('Twice'), callFor('Much')] as const;
    const requests = ['Twice', 'Much'].map((message) => ({ custom_id: message, message }));
    const batch = await submit(own.client, own, requests);
    const slow = await calls[0];
    replyWith(await calls[1], large);

    // Another worker gets the slot, as if this one had died.
    const repeated = callFor('Twice');
    await offerSlot(own.workspaceId, batch.id);
    replyWith(await repeated, 'Quick');
    const contents = async () =>
      (await resultsOf(own.client, batch.id)).map(({ response_content: content }) => content);
    await expect.poll(contents).toEqual(['Quick', large]);
    replyWith(slow, large);
    const isDeletion = ({ operation, name: by }: ReturnType<typeof service.run.calls>[number]) =>
      operation === 'DELETE object' && by?.includes('ProcessBatchItems');
    await expect.poll(() => service.run.calls().filter(isDeletion)).toHaveLength(1);
    const ended = await waitForBatchEnd(own.client, batch.id);
    await checkEnded(own.client, ended, requests);
    expect(await contents()).toEqual(['Quick', large]);
    expect(await countLargeTexts(service, own.workspaceId)).toBe(1);
  });
});

/** 6000 texts of 1000 characters. Each character has six bytes in JSON: 36 MB of events. */
function sayMuch(call: ModelCall): void {
  for (let count = 0; count < 6000; count += 1) call.chunk('\u0001'.repeat(1000));
}

/** Sends a request, and reads nothing of the response until `readAll`. */
function sendUnread(path: string, key: string, content: object) {
  const body = JSON.stringify(content);
  const { hostname, port, pathname } = new URL(`${service.baseUrl}${path}`);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${key}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const readAll = async () => {
    const read = { bytes: 0, start: '', end: '' };
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      const text = chunk.toString('latin1');
      if (read.bytes === 0) read.start = text.slice(0, 2000);
      read.bytes += chunk.length;
      read.end = (read.end + text).slice(-20_000);
    }
    return read;
  };
  return { readAll };
}

it('breaks off a completion for a client that reads too slowly, and ends the call of the model', async () => {
  const called = callFor('Unread');
  const { readAll } = sendUnread('/openai/chat/completions', `Authorization: Bearer ${tenant.apiKey}`, {
    model: tenant.agentId,
    stream: true,
    messages: [{ role: 'user', content: 'Unread' }],
  });
  const call = await called;
  sayMuch(call);
  await call.gone;

  const { bytes, start, end } = await readAll();
  console.log(`${Math.round(bytes / 1e6)} of 36 MB waited for a client that did not read`);
  expect(start).toMatch(/^HTTP\/1.1 200 /);
  expect(bytes).toBeLessThan(30_000_000);
  // Neither the last line of a stream nor the last chunk of a response.
  expect(end).not.toContain('[DONE]');
  expect(end).not.toContain('\r\n0\r\n');
});
