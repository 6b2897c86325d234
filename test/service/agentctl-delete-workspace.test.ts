import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResource } from '#contract/batch.ts';
import type { UploadedFile } from '#contract/message.ts';
import { workspaceDeletion } from '#runtime/composition/services.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { agentctlWords } from '#support/agentctl-process.ts';
import { submit, waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startProgram } from '#support/command.ts';
import { ended } from '#support/command-end.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { startFailingService } from '#support/failing-service.ts';
import { allObjects, startUpload } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, type OpenTenant, openTenant, summaryOf } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';
import { startWebhookReceiver, status } from '#support/webhook-receiver.ts';

const logged: { functionName: string; line: string }[] = [];
const { callFor, service } = await useScriptedService({
  // A webhook that was not delivered stays in the reconciler's index.
  variables: { WEBHOOK_RETRY_SECONDS: '1000' },
  onLog: (entry) => logged.push(entry),
});
const table = closeAfterTests(dataTableOf(service));
const receiver = closeAfterTests(await startWebhookReceiver(status(500)));
const agentctl = agentctlOf(service);
const lambda = new LambdaClient(operatorAt(service.run.endpoints.lambda));

const open = () => openTenant(service, { model: 'openai:test', titles: false, limits: {} });
const confirm = ['--confirm', 'Test'];

/** Every item as text, with sorted attributes. */
const allItems = async (): Promise<string[]> =>
  (await table.readAll()).map((item) => JSON.stringify(item, sorted)).sort();

const sorted = (_name: string, value: unknown): unknown =>
  value?.constructor === Object ? Object.fromEntries(Object.entries(value).sort()) : value;

async function invoke(logicalId: string, input: unknown): Promise<unknown> {
  const [, FunctionName] =
    Object.entries(service.run.physicalIds).find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === logicalId) ??
    expect.unreachable(`There is no ${logicalId}`);
  const { Payload, FunctionError } = await lambda.send(
    new InvokeCommand({ FunctionName, Payload: JSON.stringify(input) }),
  );
  expect(FunctionError).toBeUndefined();
  return JSON.parse(Payload?.transformToString() || 'null');
}

/** Stores something of every kind for a tenant. */
async function fill(tenant: OpenTenant): Promise<{ batchId: string }> {
  const { client, workspaceId } = tenant;
  const chat = await tenant.createChat({ external_user_id: 'ann' });
  const file = dataOf(await uploaderOf(service, tenant).file('notes.txt', 'Notes')) as UploadedFile;
  dataOf(await tenant.send(chat, { message: 'Read this', attached_file_uuids: [file.uuid] }));
  const reply = (await tenant.history(chat))[1]?.id;
  const feedback = { external_user_id: 'ann', type: 'sys_helpful' };
  dataOf(await client.post(`/chats/${chat.id}/messages/${reply}/feedbacks`, feedback));
  const other = await tenant.createChat();
  const called = callFor('Much, please');
  const events = stepThrough(
    await client.stream(other.id, { message: 'Much, please', agent_id: tenant.agentId, resumable: true }),
  );
  await events.next();
  const call = await called;
  replyWith(call, 'r'.repeat(310_000));
  await events.rest();
  await client.post(
    '/chats',
    { name: 'Once', agent_id: tenant.agentId },
    { headers: { 'Idempotency-Key': randomUUID() } },
  );
  const webhook = { url: receiver.url, events: ['completed'] };
  const batch = dataOf(
    await client.post<BatchResource>('/batches', {
      ...{ agent_id: tenant.agentId, webhook },
      requests: [{ custom_id: 'a', message: 'For a batch' }],
    }),
  );
  await waitForBatchEnd(client, batch.id);
  await operator().workspaces.addToWhitelist(workspaceId, ['ann']);
  await operator().workspaces.update(workspaceId, { retentionDays: 30 });
  const document = join(service.dataDir, 'opening-hours.txt');
  await writeFile(document, 'Open from nine to five');
  await agentctl.json('knowledge', 'add', '--workspace', workspaceId, document);
  await startUpload(service, workspaceId);
  return { batchId: batch.id };
}

it('leaves nothing of the workspace but one audit entry, and everything of others', async () => {
  const victim = await open();
  const { workspaceId: id, client } = victim;
  // Its keys begin like those of the deleted workspace.
  const namesake = { ...(await operator().workspaces.get(id)), id: `${id}x` };
  await operator().workspaces.put(
    namesake as Parameters<ReturnType<typeof operator>['workspaces']['put']>[0],
  );
  const { batchId } = await fill(victim);
  dataOf(await client.delete(`/chats/${(await victim.createChat()).id}`));
  await fill(await open());
  const isOfVictim = (text: string): boolean =>
    [`${id}"`, `${id}#`, `${id}/`, victim.apiKeyId, victim.agentId, batchId].some((part) =>
      text.includes(part),
    );
  const others = async () => [
    (await allItems()).filter((item) => !isOfVictim(item)),
    (await allObjects(service)).filter((name) => !isOfVictim(name)),
  ];
  const before = await others();

  const all = await allItems();
  const kinds =
    'C B IDS CHATS USER USAGE RATE AUDIT KEYS WHITELIST AGENTS AGENT FILE KNOWLEDGE REQUEST BATCHES'.split(
      ' ',
    );
  for (const kind of kinds) expect(all.join()).toContain(`W#${id}#${kind}`);
  for (const kind of ['WEBHOOKS', 'PURGES', 'BATCH#', 'KEY#', 'AGENT#', 'AUDIT'])
    expect(all.filter(isOfVictim).join()).toContain(`OPERATOR#${kind}`);
  const names = (await allObjects(service)).filter(isOfVictim).join();
  for (const kind of ['files', 'contents', 'knowledge', 'attachments/persistent', 'unfinished'])
    expect(names).toContain(kind);

  // A reply in progress, and an open batch whose request is in progress.
  const chat = await victim.createChat();
  const callings = [callFor('Go on'), callFor('Batched')];
  const events = stepThrough(await client.stream(chat.id, { message: 'Go on', agent_id: victim.agentId }));
  await events.next();
  const running = await submit(client, victim, [{ custom_id: 'a', message: 'Batched' }]);
  const [reply, request] = await Promise.all(callings);

  // Its writes fail in the middle of the first pass.
  let writes = 0;
  const proxy = closeAfterTests(
    await startFailingService((call) => {
      if (call.headers['x-amz-target'] === 'DynamoDB_20120810.BatchWriteItem') writes += 1;
      return writes > 2;
    }),
  );
  proxy.emulator = service.run.endpoints.dynamodb;
  proxy.isDown = true;
  const endpoints = { ...service.run.endpoints, dynamodb: proxy.url };
  const dataDir = join(service.dataDir, 'through-proxy');
  const failing = agentctlOf({ ...service, dataDir, run: { ...service.run, endpoints } });
  process.env.AGENT_SERVICE_RETRY_SECONDS = '1';
  const failed = await failing.run('workspaces', 'delete', id, ...confirm);
  delete process.env.AGENT_SERVICE_RETRY_SECONDS;
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(
    /Deleted so far: \d+ items and [1-9]\d* objects\. Run the command again: .*\nAWS could not carry out a call \(503/,
  );
  // Its key is unknown if the first writes deleted it.
  expect(summaryOf(await client.get('/chats'))).toMatch(/Access denied|Missing or invalid API key/);
  expect((await allItems()).filter(isOfVictim).length).toBeGreaterThan(10);

  // Killed while it waits.
  const killed = startProgram(agentctlWords('workspaces', 'delete', id, ...confirm, '--data', agentctl.data));
  await expect.poll(() => killed.errors()).toContain('Waiting until');
  killed.child.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');

  // What writers of that time find.
  reply?.chunk('More');
  reply?.finish();
  request?.finish();
  expect(JSON.stringify(await events.rest())).not.toContain('response.completed');
  const owner = { workspaceId: id, batchId: running.id };
  const message = { ...owner, slot: 1, epoch: 1 };
  const records = (body: unknown) => ({
    Records: [{ messageId: '1', body: JSON.stringify(body), attributes: { ApproximateReceiveCount: '1' } }],
  });
  const done = { batchItemFailures: [] };
  expect(await invoke('ProcessBatchItems', records(message))).toBeNull();
  expect(
    await invoke('PurgeChat', records({ workspaceId: id, chatId: 1, deletedAt: '2027-01-01T00:00:00.000Z' })),
  ).toEqual(done);
  expect(
    await invoke('DispatchBatch', { ...owner, taskToken: 'ended', enteredAt: '2027-01-01T00:00:00.000Z' }),
  ).toBeNull();
  expect(await invoke('AdvanceBatch', owner)).toEqual({ stage: 'over', webhook: false });
  expect(await invoke('FailBatch', owner)).toEqual({ webhook: false });
  expect(await invoke('DeliverWebhook', owner)).toEqual({ state: 'settled', seconds: 0 });
  await invoke('ReconcileBatches', {});
  await expect.poll(() => service.run.workers().filter(({ busy }) => busy)).toEqual([]);
  expect(logged.filter(({ line }) => line.includes('"level":"ERROR"'))).toEqual([]);
  await table.writeItems([{ ...keys.usage(id, '2027-01-01', victim.apiKeyId, null, 'process_1'), turns: 1 }]);

  // The wait ends 20 minutes after the workspace was disabled.
  const startedAt = new Date(Date.now() - 20 * 60_000).toISOString();
  await table.change(keys.workspace(id), { deletion_started_at: startedAt });
  const deleted = await agentctl.json<{ items: number; objects: number }>(
    'workspaces',
    'delete',
    id,
    ...confirm,
  );
  // With what the killed run has deleted.
  expect(deleted).toEqual({ id, deleted: true, items: expect.any(Number), objects: expect.any(Number) });
  const counts = { items: deleted.items, objects: deleted.objects };
  expect([counts.items > 20, counts.objects > 0]).toEqual([true, true]);

  const remaining = (await allItems()).filter((item) => isOfVictim(item) || item.includes(running.id));
  expect(remaining).toHaveLength(1);
  expect(JSON.parse(remaining[0] ?? '')).toMatchObject({
    ...{ pk: 'OPERATOR#AUDIT', action: 'workspace deleted', workspace_id: id, target: id },
    changes: counts,
  });
  expect((await allObjects(service)).filter(isOfVictim)).toEqual([]);
  expect(await others()).toEqual([
    (before[0] as string[]).concat(remaining).filter((item) => !isOfVictim(item)),
    before[1],
  ]);
  expect(summaryOf(await client.get('/chats'))).toContain('Missing or invalid API key');
  expect(await agentctl.run('workspaces', 'delete', id, ...confirm)).toMatchObject(
    ended(1, `Workspace ${id} not found\n`),
  );
  expect((await agentctl.run('workspaces', 'get', `${id}x`)).code).toBe(0);
});

it('changes nothing without the name of the workspace', async () => {
  const { workspaceId: id, client } = await open();
  const before = await allItems();
  const wrong = await agentctl.run('workspaces', 'delete', id, '--confirm', 'test');
  expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([
    ...[1, ''],
    `--confirm must be the name of the workspace ${id}. Nothing was changed\n`,
  ]);
  expect(await agentctl.run('workspaces', 'delete', id)).toMatchObject(ended(2, /option '--confirm <name>'/));
  expect(await agentctl.run('workspaces', 'delete', 'ws_unknown', ...confirm)).toMatchObject(
    ended(1, 'Workspace ws_unknown not found\n'),
  );
  expect(await allItems()).toEqual(before);
  expect((await client.get('/chats')).status).toBe(200);
});

it('counts the wait from when the workspace was disabled for its deletion', async () => {
  const { workspaceId: id, client } = await open();
  const [first, second, third] = [
    '2027-01-01T00:00:00.000Z',
    '2027-01-02T00:00:00.000Z',
    '2027-01-03T00:00:00.000Z',
  ];
  const deletion = workspaceDeletion();
  await operator().workspaces.update(id, { retentionDays: 30 });
  expect(await deletion.start(id, first)).toMatchObject({ startedAt: first });
  // From now on, no run of the retention finds the workspace.
  expect(await table.read(keys.operatorsRetention(id))).toBeUndefined();
  expect(summaryOf(await client.get('/chats'))).toBe('403/10001 Access denied');
  expect(await deletion.start(id, second)).toMatchObject({ startedAt: first });
  // Functions may have written since.
  for (const enabled of [true, false]) await operator().workspaces.update(id, { enabled });
  expect(await deletion.start(id, second)).toMatchObject({ startedAt: second });
  expect(await deletion.start(id, third)).toMatchObject({ startedAt: second });
  await operator().workspaces.update(id, { enabled: true });
  expect(await deletion.start(id, third)).toMatchObject({ startedAt: third });
  expect(summaryOf(await client.get('/chats'))).toBe('403/10001 Access denied');
  const disabled = await open();
  await operator().workspaces.update(disabled.workspaceId, { enabled: false });
  expect(await deletion.start(disabled.workspaceId, first)).toMatchObject({ startedAt: first });
  for (const items of [40, 2]) await deletion.add(id, { items, objects: 1 });
  expect(await deletion.start(id, third)).toEqual({ startedAt: third, deleted: { items: 42, objects: 2 } });
  expect(await deletion.start('ws_unknown', first)).toBeUndefined();
  expect(await operator().workspaces.get('ws_unknown')).toBeUndefined();
});
