import { expect, it } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf, resultsOfBatch, tally } from '#support/batches.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import { rejection, useProxiedService } from '#support/proxied-service.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { createChat, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';

// Retries wait in real time: 5 s, 10 s …

/** By workspace: the functions whose calls for it fail. */
const failing = new Map<string, RegExp>();
const logged: { functionName: string; line: string }[] = [];
const { service, proxy, table } = await useProxiedService({
  timer: quickTimer,
  onLog: (entry) => logged.push(entry),
  // With the real waits, ten attempts would take minutes.
  waitMilliseconds: {
    'Offer slots to workers and wait for the last request': 100,
    'See what has become of the batch': 100,
  },
});
proxy.handle = async ({ functionName, body }, pass) => {
  const isFailing = [...failing].some(
    ([workspaceId, name]) => name.test(functionName) && JSON.stringify(body).includes(workspaceId),
  );
  return isFailing ? rejection : pass();
};
const open = () => openBatchTenant(service);

it.concurrent.each([
  ['begin', /DispatchBatch/, { 'failed 500': 2 }],
  ['look at', /AdvanceBatch/, { success: 2 }],
])(
  'a batch that its workflow cannot %s ends as failed, with what was done of it',
  async (_what, name, ends) => {
    const tenant = await open();
    const chatId = await createChat(tenant.client, tenant);
    const requests = requestsOf(2, (index) => (index === 0 ? { history_id: chatId } : {}));
    failing.set(tenant.workspaceId, name);
    const batch = await tenant.run(requests, 100);
    expect(batch).toMatchObject({ status: 'failed', completed_at: expect.any(String) });
    const results = await tenant.checkEnded(batch, requests);
    expect(tally(results)).toEqual(ends);
    expect((await send(tenant.client, tenant, chatId, 'Go on')).status).toBe(200);
  },
);

it('a task of the workflow that fails says so in a line of its own, and every line names its invocation', async () => {
  const tenant = await open();
  let rejected = 0;
  proxy.handle = async ({ target, functionName }, pass) => {
    if (!functionName.includes('AdvanceBatch') || target !== 'GetItem' || rejected > 0) return pass();
    rejected += 1;
    return {
      status: 400,
      body: '{"__type":"ValidationException","message":"No such key","Item":{"text":{"S":"canary-row"}}}',
    };
  };
  const batch = await tenant.run(requestsOf(2), 100);
  expect(batch).toMatchObject({ status: 'completed', completed_requests: 2 });
  expect(rejected).toBe(1);
  const linesOf = (name: string) =>
    logged
      // Lines without JSON are the runner's own, about calls that it throttled.
      .filter(({ functionName, line }) => functionName.includes(name) && line.startsWith('{'))
      .map(({ line }) => JSON.parse(line) as Record<string, unknown>);
  await expect
    .poll(() =>
      linesOf('AdvanceBatch').filter(({ level, batch_id: id }) => level === 'ERROR' && id === batch.id),
    )
    .toMatchObject([
      {
        message: 'An invocation failed',
        error: { name: 'ValidationException', message: 'No such key' },
        workspace_id: tenant.workspaceId,
        batch_id: batch.id,
      },
    ]);
  for (const name of ['DispatchBatch', 'ProcessBatchItems', 'AdvanceBatch', 'ReconcileBatches']) {
    const lines = linesOf(name);
    expect(lines.map(({ request_id: id }) => id)).toEqual(
      lines.map(() => expect.stringMatching(/^[\da-f-]{36}$/)),
    );
    for (const { function_request_id: id, request_id: own } of lines)
      if (id !== undefined) expect(own).toBe(id);
  }
  expect(JSON.stringify(logged)).not.toContain('canary-row');
});

it('a request whose file is deleted while it attaches the file fails, and leaves nothing of the file', async () => {
  const tenant = await open();
  const { uuid } = dataOf(await uploaderOf(service, tenant).file('a.txt', 'Text')) as { uuid: string };
  const { handle } = proxy;
  let removed: string | undefined;
  proxy.handle = async (call, pass) => {
    const text = JSON.stringify(call.body);
    if (removed === undefined && text.includes(uuid) && text.includes('SET #attached')) {
      removed = '';
      removed = summaryOf(await tenant.client.delete(`/chats/files/${uuid}`));
    }
    return handle(call, pass);
  };
  const request = { custom_id: 'a', message: 'Read it', attached_file_uuids: [uuid] };
  const [result] = await resultsOfBatch(tenant.client, tenant, [request]);
  expect(removed).toBe('200/0 success');
  const error_message = 'attached_file_uuids[0] is not a file of this workspace';
  expect(result).toMatchObject({ status: 'failed', error_code: 400, error_message });
  const left = (await table.readAll()).filter((item) => JSON.stringify(item).includes(uuid));
  expect(left.filter(({ pk }) => !String(pk).includes('#B#'))).toEqual([]);
});
