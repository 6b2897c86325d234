import { describe, expect, it } from 'vitest';
import { purgeItem } from '#adapters/dynamo/chats/purge-outbox.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResultResource } from '#contract/batch.ts';
import { resultsOf, submit, waitForBatchEnd } from '#support/batches.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { isReplier } from '#support/entry-points.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useProxiedService } from '#support/proxied-service.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { messageItems } from '#support/seed.ts';
import { stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';

// The reconciler runs each second. The leases are so long that no renewal finds a chat deleted, also on a slow machine.
const { callFor, service, tenant, client, proxy, table } = await useProxiedService({
  timer: quickTimer,
  variables: { LEASE_SECONDS: '240' },
});

const { workspaceId, agentId } = tenant;
const waiting = { timeout: 60_000, interval: 100 };
const notFound = '404/10003 Chat not found';
const success = '200/0 success';

/** Every chat that a test has deleted. */
const deleted: number[] = [];

/** Batches with a request on a deleted chat alone. */
const batches: string[] = [];

async function remove(chatId: number): Promise<void> {
  dataOf(await client.delete(`/chats/${chatId}`));
  deleted.push(chatId);
}

/** The purge of a chat as if it had been deleted so many minutes ago: the reconciler waits for five. */
function purgeAt(chatId: number, minutes: number) {
  const deletedAt = new Date(Date.now() - minutes * 60_000).toISOString();
  const purge = purgeItem({ workspaceId, chatId, deletedAt });
  return { ...purge, ...keys.operatorsPurge(deletedAt, workspaceId, chatId) };
}

/** The sort keys of what is stored for a chat. */
async function storedFor(chatId: number): Promise<string[]> {
  const { pk } = keys.chat(workspaceId, chatId);
  return (await table.readAll())
    .filter((item) => item.pk === pk || String(item.pk).startsWith(`${pk}#`))
    .map(({ sk }) => String(sk))
    .toSorted();
}

/** Deletes a chat, and waits for the end of its purge. */
async function purge(id: number): Promise<void> {
  await remove(id);
  await expect.poll(() => storedFor(id), waiting).toEqual([]);
}

const sendTo = (id: number, message: string, headers: Record<string, string> = {}) =>
  client.post(`/chats/${id}/messages`, { message, agent_id: agentId, stream: false }, { headers });

/** Starts a streamed reply, whose model has been called. */
async function startStream(message: string) {
  const { id } = await tenant.createChat();
  const called = callFor(message);
  const events = stepThrough(await client.stream(id, { message, agent_id: agentId }));
  return { id, events, call: await called };
}

/** A chat with one turn. */
async function talk(message = 'Hello'): Promise<number> {
  const chat = await tenant.createChat();
  dataOf(await tenant.send(chat, { message }));
  return chat.id;
}

/** Runs `work` before the first call that `is` matches. */
function meanwhile(is: (call: ProxiedCall) => boolean, work: () => Promise<unknown>): void {
  let isFirst = true;
  proxy.handle = async (call, pass) => {
    if (isFirst && is(call)) {
      isFirst = false;
      await work();
    }
    return pass();
  };
}

const isWrite = ({ target }: ProxiedCall): boolean => /^(Put|Update|Transact|BatchWrite)/.test(target);
const isOf = (call: ProxiedCall, text: string): boolean => JSON.stringify(call.body).includes(text);

describe('a deletion that comes', () => {
  it('before a send has its lease: the chat is not found', async () => {
    const id = await talk();
    meanwhile(
      (call) => isReplier(call.functionName) && isWrite(call) && isOf(call, 'lease_id'),
      () => remove(id),
    );
    const sent = await sendTo(id, 'Too late');
    expect(summaryOf(sent)).toBe(notFound);
  });

  it('with its purge before a repeated send has read the reply: the chat is not found', async () => {
    const { id } = await tenant.createChat();
    const repeat = () => sendTo(id, 'Once', { 'idempotency-key': 'once' });
    expect(summaryOf(await repeat())).toBe(success);
    meanwhile(
      (call) => isReplier(call.functionName) && call.target === 'Query' && isOf(call, `#C#${id}`),
      () => purge(id),
    );
    expect(summaryOf(await repeat())).toBe(notFound);
  });

  it('after a send has its lease, and is purged before its message is stored', async () => {
    const id = await talk();
    meanwhile(
      (call) => isReplier(call.functionName) && call.target === 'PutItem' && isOf(call, 'M#0000003'),
      () => purge(id),
    );
    const sent = await sendTo(id, 'In between');
    // The client has the reply, although nothing of it stays.
    expect(summaryOf(sent)).toBe(success);
    // The second run of the purge deletes it.
    expect(await storedFor(id)).toContain('M#0000003');
  });

  it('while a reply is streamed', async () => {
    const { id, events, call } = await startStream('streamed');
    call.chunk('One, ');
    await events.next();
    await remove(id);
    replyWith(call, 'two');
    const rest = await events.rest();
    expect(rest.slice(-2)).toMatchObject([{ type: 'response.output_text.completed' }, '[DONE]']);
    expect(summaryOf(await client.get(`/chats/${id}`))).toBe(notFound);
  });

  const rating = { external_user_id: 'ann', type: 'sys_helpful' };
  it.each<[string, string, (path: string, reply?: number) => ReturnType<typeof client.get>]>([
    ['a rename', 'RenameChat', (path) => client.patch(path, { name: 'New' })],
    [
      'a rating',
      'RecordFeedback',
      (path, reply) => client.post(`${path}/messages/${reply}/feedbacks`, rating),
    ],
    ['another deletion', 'DeleteChat', (path) => client.delete(path)],
  ])('before the write of %s', async (_what, functionName, call) => {
    const id = await talk();
    const [, reply] = await tenant.history({ id, external_user_id: null } as never);
    meanwhile(
      (proxied) =>
        proxied.functionName.includes(functionName) && isWrite(proxied) && isOf(proxied, `#C#${id}`),
      () => remove(id),
    );
    expect(summaryOf(await call(`/chats/${id}`, reply?.id))).toBe(notFound);
  });

  it('before the write of a stop', async () => {
    const { id, events, call } = await startStream('to be stopped');
    meanwhile(
      (proxied) => proxied.functionName.includes('StopReply') && isWrite(proxied),
      () => remove(id),
    );
    expect(summaryOf(await client.post(`/chats/${id}/stop`, {}))).toBe(
      '400/10006 No reply is in progress for this chat',
    );
    call.finish();
    await events.rest();
  });

  it('while a batch request on the chat runs, and another one waits, which fails', async () => {
    const id = await talk();
    const called = callFor('runs');
    const requests = ['runs', 'waits'].map((message) => ({ custom_id: message, message, history_id: id }));
    const batch = await submit(client, tenant, requests);
    const call = await called;
    await remove(id);
    replyWith(call, 'Too late');
    await waitForBatchEnd(client, batch.id);
    const failed = { status: 'failed', error_code: 400, error_message: 'Chat not found', history_id: id };
    const results: BatchResultResource[] = await resultsOf(client, batch.id);
    expect(results).toMatchObject([{ status: 'success', history_id: id }, failed]);
  });

  it('with its purge before a batch is stored that continues the chat: its request fails', async () => {
    const id = await talk();
    meanwhile(
      (call) => call.functionName.includes('CreateBatch') && isWrite(call) && isOf(call, 'GROUP#'),
      () => purge(id),
    );
    const requests = [{ custom_id: 'a', message: 'Too late', history_id: id }];
    const batch = await submit(client, tenant, requests);
    await waitForBatchEnd(client, batch.id);
    expect(await resultsOf(client, batch.id)).toMatchObject([
      { status: 'failed', error_code: 400, error_message: 'Chat not found' },
    ]);
    // The second run of the purge deletes it, and erases the text that it names.
    expect(await storedFor(id)).toContain(`BATCH#${batch.id}#0`);
    batches.push(batch.id);
  });

  it('whose function dies before it enqueues the purge: the reconciler does so', async () => {
    const id = await talk();
    proxy.handle = async (call, pass) => {
      const response = await pass();
      if (!call.functionName.includes('DeleteChat') || call.target !== 'TransactWriteItems') return response;
      service.run.killWorkers('DeleteChat');
      return undefined;
    };
    expect((await client.delete(`/chats/${id}`)).status).toBeGreaterThanOrEqual(500);
    proxy.handle = (_, pass) => pass();
    deleted.push(id);
    expect(summaryOf(await client.get(`/chats/${id}`))).toBe(notFound);
    expect(await storedFor(id)).toEqual(['M#0000001', 'M#0000002']);
    const purge = (await table.readAll()).find(
      (item) => item.pk === 'OPERATOR#PURGES' && item.workspace_id === workspaceId && item.chat_id === id,
    );
    expect(purge).toBeDefined();
    await table.writeItems([purgeAt(id, 6)]);
    await expect.poll(() => storedFor(id), waiting).toEqual([]);
  });
});

describe('a deletion of a file', async () => {
  const owner = await openTenant(service, { titles: false });
  async function open() {
    const { uuid } = dataOf(await uploaderOf(service, owner).file('a.txt', 'Text')) as { uuid: string };
    const chat = await owner.createChat();
    return {
      ...{ uuid, chat },
      remove: async () => summaryOf(await owner.client.delete(`/chats/files/${uuid}`)),
      send: async () => summaryOf(await owner.send(chat, { attached_file_uuids: [uuid] })),
    };
  }
  const rejectedSend = '400/10006 attached_file_uuids[0] is not a file of this workspace';
  const rejectedDeletion = '400/10006 The file is attached to a message: it is deleted with its chat';

  it('before a send has registered the file: the send is rejected, and leaves nothing', async () => {
    const { uuid, chat, remove, send } = await open();
    let removed = '';
    meanwhile(
      (call) => isReplier(call.functionName) && isOf(call, uuid) && isOf(call, 'SET #attached'),
      async () => {
        removed = await remove();
      },
    );
    expect(await send()).toBe(rejectedSend);
    expect(removed).toBe(success);
    expect(await owner.history(chat)).toEqual([]);
    expect((await table.readAll()).filter((item) => JSON.stringify(item).includes(uuid))).toEqual([]);
  });

  it('after it has found no chat, and before it starts: the send has the file', async () => {
    const { uuid, chat, remove, send } = await open();
    let sent = '';
    meanwhile(
      (call) => call.functionName?.includes('DeleteFile') === true && isWrite(call) && isOf(call, uuid),
      async () => {
        sent = await send();
      },
    );
    expect(await remove()).toBe(rejectedDeletion);
    expect(sent).toBe(success);
    expect((await owner.history(chat))[0]?.attached_files).toMatchObject([{ uuid }]);
    // It stays for this message alone.
    expect(await send()).toBe(rejectedSend);
  });

  it('at the same moment as a send: one of them wins', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { remove, send } = await open();
      const [sent, removed] = await Promise.all([send(), remove()]);
      expect([
        [success, rejectedDeletion],
        [rejectedSend, success],
      ]).toContainEqual([sent, removed]);
    }
  });
});

describe('a history that is read while its chat is purged', () => {
  /** A chat with so long messages that a query returns four of them. */
  async function longChat(count: number): Promise<number> {
    const { id } = await tenant.createChat();
    const content = () => 'x'.repeat(250_000);
    await table.writeItems([...messageItems({ workspaceId, chatId: id, count, content })]);
    await table.change(keys.chat(workspaceId, id), { message_count: count });
    return id;
  }
  /** Purges the chat before the query number `number` of its history. */
  function purgeBefore(id: number, number: number): void {
    let queries = 0;
    meanwhile(
      ({ functionName, target }) => {
        if (functionName.includes('ListMessages') && target === 'Query') queries += 1;
        return queries === number;
      },
      () => purge(id),
    );
  }
  const read = (id: number) =>
    client.get<{ content: string }[]>(`/chats/${id}/messages?external_user_id=ann&order_by=asc`);

  it('is not found if nothing was sent', async () => {
    const id = await longChat(2);
    purgeBefore(id, 1);
    expect(summaryOf(await read(id))).toBe(notFound);
  });

  it('ends before the messages that are gone', async () => {
    const id = await longChat(6);
    purgeBefore(id, 2);
    const response = await read(id);
    expect(summaryOf(response)).toBe(success);
    expect(response.body.data.length).toBeLessThan(6);
    expect(response.body.pagination?.total_records).toBe(6);
  });
});

it('leaves nothing of each of these chats, and lists and total without them', async () => {
  const purges = deleted.map((id) => purgeAt(id, 21));
  await table.writeItems(purges);
  const areLeft = async () =>
    (await Promise.all(purges.map(({ pk, sk }) => table.read({ pk, sk })))).filter((purge) => purge);
  await expect.poll(areLeft, waiting).toEqual([]);
  for (const id of deleted) expect(await storedFor(id)).toEqual([]);
  for (const id of batches)
    expect(await table.read(keys.batchRequests(workspaceId, id, 0))).toMatchObject({
      requests: [{ message: '' }],
    });
  const { body } = await client.get<unknown[]>('/chats');
  expect([body.data, body.pagination?.total_records]).toEqual([[], 0]);
});
