import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { checkEnded, tally, waitForBatchEnd } from '#support/batches.ts';
import { type Client, clientOf } from '#support/client.ts';
import { type RunningCommand, startCommand } from '#support/command.ts';
import { type FrozenFolder, restoreDataFolder } from '#support/frozen/restore-data-folder.ts';
import { dataOf } from '#support/open-tenant.ts';
import { contentsOf, historyOf, interrupted, send } from '#support/turns.ts';
import {
  expectedSignature,
  startWebhookReceiver,
  status,
  type WebhookReceiver,
} from '#support/webhook-receiver.ts';
import type { Connection } from '../../bin/local/connection.ts';

// A start takes 3 s on an idle machine.

/** Longer than any lease of the killed processes. */
const minutesAgo = 10;

let folder: string;
let data: string;
let frozen: FrozenFolder;
let receiver: WebhookReceiver;
let command: RunningCommand;
let client: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-frozen-'));
  data = join(folder, 'data');
  receiver = await startWebhookReceiver(status(200));
  frozen = await restoreDataFolder(data, {
    assembly: inject('assembly'),
    receiver: receiver.url,
    minutesAgo,
  });
  command = startCommand(['--port', '0', '--data', data]);
  await command.printed('Ctrl-C ends it.');
  const connection = JSON.parse(await readFile(join(data, 'connection.json'), 'utf8')) as Connection;
  // The folder still has the same demo workspace.
  expect(connection).toMatchObject({
    api_key: frozen.connection.api_key,
    workspace_id: frozen.connection.workspace_id,
    agent_id: frozen.connection.agent_id,
  });
  client = clientOf({ baseUrl: connection.base_url }, { apiKey: connection.api_key });
});
afterAll(async () => {
  command.child.kill('SIGTERM');
  await command.ended;
  await receiver.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

it('ends the open batch of an earlier version whole and exact, each request once', async () => {
  const { id, requests } = frozen.batches.open;
  const batch = await waitForBatchEnd(client, id, 110);
  expect(batch.status).toBe('completed');
  const results = await checkEnded(client, batch, requests);
  // One request had failed before the upgrade.
  expect(tally(results)).toEqual({ success: requests.length - 1, 'failed 500': 1 });
  const own = results.flatMap(({ history_id }) => history_id ?? []);
  expect(new Set(own).size).toBe(own.length);
  for (const [index, { status, history_id, response_content }] of results.entries()) {
    if (status !== 'success') continue;
    const history = await historyOf(client, Number(history_id));
    expect(contentsOf(history)).toEqual([requests[index]?.message, response_content]);
  }
});

it('ends a batch that was cancelled before, whatever its dead worker had in hand', async () => {
  const { id, requests } = frozen.batches.cancelling;
  const batch = await waitForBatchEnd(client, id, 110);
  expect(batch).toMatchObject({ status: 'cancelled', failed_requests: requests.length });
  expect(tally(await checkEnded(client, batch, requests))).toEqual({ 'failed 499': requests.length });
  expect((await send(client, frozen, Number(requests[0]?.history_id), 'Go on')).status).toBe(200);
});

it('delivers the webhook of a batch that had ended, in the words and under the secret of then', async () => {
  const [call] = await receiver.called(1);
  const batch = await waitForBatchEnd(client, frozen.batches.undelivered.id);
  expect(call?.payload).toEqual({
    event: 'batch.completed',
    timestamp: batch.completed_at,
    data: {
      ...{ id: batch.id, status: 'completed', total_requests: 1 },
      ...{ completed_requests: 1, failed_requests: 0 },
    },
  });
  expect(call?.headers['x-service-signature']).toBe(
    expectedSignature(frozen.webhookSecret, call ?? expect.unreachable()),
  );
});

it('shows chats as they were, with files, feedback and a reply that is too large for an item', async () => {
  const { id, fileUuid, messages } = frozen.chat;
  const history = await historyOf(client, id, encodeURIComponent(frozen.userId));
  expect(history.map(({ id, role, content }) => ({ id, role, content: content.slice(0, 100) }))).toEqual(
    messages,
  );
  expect(history[3]?.content).toMatch(/^(?:large ){50001}$/);
  expect(history[1]?.feedback_counts).toEqual({ sys_improve: 1 });
  const [file] = history[0]?.attached_files ?? [];
  expect(file).toMatchObject({ uuid: fileUuid, original_name: 'notes.txt' });
  expect(await (await fetch(file?.file_url ?? '')).text()).toBe('The bridge was built in 1932.');
  const fields = { external_user_id: frozen.userId, attached_file_uuids: [fileUuid] };
  expect((await send(client, frozen, id, 'And now?', fields)).status).toBe(200);
  expect(await historyOf(client, id, encodeURIComponent(frozen.userId))).toHaveLength(6);
});

it('closes the turn that was cut off by the kill, and goes on with its chat', async () => {
  const { id, message } = frozen.cutChat;
  expect((await send(client, frozen, id, 'After')).status).toBe(200);
  const history = await historyOf(client, id);
  expect(contentsOf(history).slice(0, 3)).toEqual([message, '', 'After']);
  expect(history[1]?.meta.error).toEqual(interrupted);
});

it('names a folder whose table cannot be read, and --reset, on one line', async () => {
  const damaged = join(folder, 'damaged');
  await cp(join(data, 'assembly'), join(damaged, 'assembly'), { recursive: true });
  await writeFile(join(damaged, 'dynamodb.sqlite'), 'no database'.repeat(1000));
  const { code, stderr } = await startCommand(['--port', '0', '--data', damaged]).ended;
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(damaged)]);
  expect(stderr).toContain('--reset');
  expect(code).toBe(1);
});

it('replays what was made under an Idempotency-Key before', async () => {
  const { id, requests } = frozen.batches.open;
  const body = { agent_id: frozen.agentId, requests };
  const headers = { 'Idempotency-Key': requests[0]?.message ?? '' };
  const repeated = await client.post<BatchResource>('/batches', body, { headers });
  expect(dataOf(repeated).id).toBe(id);
});
