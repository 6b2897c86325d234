import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { UploadedFile } from '#contract/message.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { resultsOf, waitForBatchEnd } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';

// The reconciler runs each second.
const { callFor, model, service, tenant } = await useScriptedService({
  timer: quickTimer,
  variables: { LEASE_SECONDS: '3' },
});
const { client, workspaceId, agentId: agent_id } = tenant;
const table = closeAfterTests(dataTableOf(service));
const agentctl = agentctlOf(service);
const waiting = { timeout: 60_000, interval: 500 };

const s3 = new S3Client({ ...operatorAt(service.run.endpoints.s3), forcePathStyle: true });

/** Every object as text: its key and its bytes. */
async function readObjects(): Promise<string[]> {
  const found: string[] = [];
  for (const Bucket of [service.run.outputs.ContentBucketName, service.run.outputs.FileBucketName])
    for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket }))
      for (const { Key } of Contents) {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
        found.push(`${Key} ${await Body?.transformToString()}`);
      }
  return found;
}

/** Every item and object that contains the text, sorted. */
async function everythingWith(text: string): Promise<string[]> {
  const items = (await table.readAll()).map((item) =>
    inspect(item, {
      sorted: true,
      depth: null,
      maxStringLength: null,
      breakLength: Number.POSITIVE_INFINITY,
    }),
  );
  return [...items, ...(await readObjects())].filter((stored) => stored.includes(text)).toSorted();
}

/** How many items contain the text, by the kind of their partition. */
async function kindsWith(text: string): Promise<Record<string, number>> {
  const items = (await table.readAll()).filter((item) => inspect(item, { depth: null }).includes(text));
  const byKind = Map.groupBy(items, ({ pk }) => String(pk).split('#')[2]);
  return Object.fromEntries([...byKind].map(([kind, { length }]) => [kind, length]));
}

/** The stored events of resumable replies, which are compressed. */
const eventsOf = async ({ id }: ChatResource) =>
  (await table.readAll()).filter(({ pk }) => String(pk).startsWith(`W#${workspaceId}#C#${id}#E#`));

const addressOf = (user: string): string => `/users?external_user_id=${encodeURIComponent(user)}`;

// A message with a file has parts.
const { onCall } = model;
model.onCall = (call) => {
  if (typeof call.request.messages.at(-1)?.content === 'string') onCall(call);
  else replyWith(call, 'Read');
};

/** Sends as the user, and lets the model reply with the text. */
async function talk(
  chat: ChatResource,
  user: string,
  message: string,
  fields = {},
  reply = `Re: ${message}`,
) {
  const called = callFor(message);
  const body = { message, agent_id, external_user_id: user, ...fields };
  const events = stepThrough(await client.stream(chat.id, body));
  const call = await called;
  replyWith(call, reply);
  await events.rest();
}

const rate = async (chat: ChatResource, external_user_id: string, content: string) => {
  const reply = (await tenant.history(chat, external_user_id))[1]?.id;
  dataOf(
    await client.post(`/chats/${chat.id}/messages/${reply}/feedbacks`, {
      ...{ external_user_id, type: 'sys_improve', content },
    }),
  );
};

/** A person of whom every kind of data is stored. Its texts and its id contain the mark. */
async function furnish(shared: ChatResource) {
  const mark = `mark-${randomUUID()}`;
  const user = `Ünï/../%2F#${mark}`;
  await agentctl.json('whitelist', 'add', '--workspace', workspaceId, user);
  const own = await tenant.createChat({ external_user_id: user, name: `Of ${mark}` });
  const headers = { 'Idempotency-Key': mark };
  const first = callFor(`Hello ${mark}`);
  const sent = client.post(
    `/chats/${own.id}/messages`,
    { message: `Hello ${mark}`, agent_id, external_user_id: user, stream: false },
    { headers },
  );
  const call = await first;
  replyWith(call, `Hello, ${mark}`);
  dataOf(await sent);
  await talk(own, user, `Long ${mark}`, {}, mark.repeat(8000));
  const { body } = await uploaderOf(service, tenant).file(`${mark}.txt`, `Text ${mark}`);
  const attached_file_uuids = [(body.data as UploadedFile).uuid];
  await talk(own, user, `Resumable ${mark}`, { resumable: true });
  dataOf(await tenant.send(own, { message: `File ${mark}`, attached_file_uuids }));
  await rate(own, user, `Own ${mark}`);
  await rate(shared, user, `Shared ${mark}`);
  const requests = [
    { custom_id: 'new', message: `New ${mark}`, name: `Named ${mark}` },
    { custom_id: 'own', message: `Batch ${mark}`, history_id: own.id },
    { custom_id: 'shared', message: `Shared batch ${mark}`, history_id: shared.id },
  ];
  const calls = requests.map(({ message }) => callFor(message));
  const batch = dataOf(
    await client.post<BatchResource>('/batches', {
      agent_id,
      requests: requests.map((request) => ({ ...request, external_user_id: user })),
    }),
  );
  for (const request of calls) {
    const each = await request;
    replyWith(each, `Done`);
  }
  await waitForBatchEnd(client, batch.id);
  return { mark, user, own, batch };
}

/** As if the request of the erasure were twenty minutes ago. */
async function age(user: string): Promise<void> {
  const [outbox] = (await table.readAll()).filter(
    ({ pk, external_user_id }) => pk === 'OPERATOR#PURGES' && external_user_id === user,
  );
  const key = { pk: String(outbox?.pk), sk: String(outbox?.sk) };
  await table.change(key, { deleted_at: new Date(Date.now() - 21 * 60_000).toISOString(), due_at: 0 });
  await expect.poll(() => table.read(key), waiting).toBeUndefined();
}

const shared = await tenant.createChat();
await talk(shared, 'reader', 'For everybody');

it('erases every item and object of a user, and changes nothing of another one', async () => {
  const [ann, bob] = [await furnish(shared), await furnish(shared)];
  expect(await kindsWith(ann.mark)).toEqual({ B: 1, C: 13, FILE: 1, USER: 4, 'USER-N': 2, WHITELIST: 1 });
  expect(await eventsOf(ann.own)).not.toEqual([]);
  const before = await everythingWith(bob.mark);
  const { body, status } = await client.delete(addressOf(ann.user));
  expect([status, body]).toEqual([
    202,
    { data: { external_user_id: ann.user, status: 'erasing' }, message: null, error_code: 0 },
  ]);
  // The shared chat is not the user's: what the user said there in a batch stays with it.
  const said = await everythingWith(`Shared batch ${ann.mark}`);
  const left = async () =>
    (await everythingWith(ann.mark)).filter(
      (stored) => !said.includes(stored) && !stored.includes('#WHITELIST'),
    );
  await expect.poll(async () => (await left()).length, waiting).toBe(1);
  expect((await left())[0]).toContain('OPERATOR#PURGES');
  await age(ann.user);
  expect(await left()).toEqual([]);
  // The list of those who may chat is the operator's.
  expect((await kindsWith(ann.mark)).WHITELIST).toBe(1);
  expect(await everythingWith(bob.mark)).toEqual(before);
  expect(await eventsOf(ann.own)).toEqual([]);
  const counts = await table.read(keys.feedbackCounts(workspaceId, shared.id, 2));
  expect(counts?.sys_improve).toBe(1);
  const results = dataOf(await client.get<BatchResultResource[]>(`/batches/${ann.batch.id}/results`));
  expect(results.map(({ status }) => status)).toEqual(['success', 'success', 'success']);
  expect(results.map(({ response_content }) => response_content)).toEqual([null, null, 'Done']);
  const audit = await agentctl.json<{ entries: { action: string; target_id: string; actor: string }[] }>(
    'audit',
  );
  expect(audit.entries).toContainEqual(
    expect.objectContaining({
      action: 'user erased',
      target_id: expect.stringMatching(/^user_[\da-f]{32}$/),
      actor: expect.stringMatching(/^API key /),
    }),
  );
});

it('keeps what the user does after the request, and erases it with the next one', async () => {
  const user = `user-${randomUUID()}`;
  const old = await tenant.createChat({ external_user_id: user });
  dataOf(await client.delete(addressOf(user)));
  const chat = await tenant.createChat({ external_user_id: user });
  await talk(shared, user, `In ${user}`);
  await rate(shared, user, `By ${user}`);
  const requests = [{ custom_id: 'newer', message: `Batch of ${user}`, external_user_id: user }];
  const batch = dataOf(await client.post<BatchResource>('/batches', { agent_id, requests }));
  await waitForBatchEnd(client, batch.id);
  const textsOf = async () => ({
    ofBatch: (await resultsOf(client, batch.id)).map(({ response_content }) => response_content),
    ratings: (await everythingWith(`By ${user}`)).length,
    // The request of the batch, and the message in its chat.
    messages: (await everythingWith(`Batch of ${user}`)).length,
  });
  const before = await textsOf();
  expect(before).toEqual({ ofBatch: [expect.any(String)], ratings: 1, messages: 2 });
  const listed = async () =>
    dataOf(await client.get<ChatResource[]>(`/chats?external_user_id=${user}&agent_id=${agent_id}`)).map(
      ({ id }) => id,
    );
  await expect.poll(listed, waiting).toEqual([expect.any(Number), chat.id]);
  await age(user);
  expect(await listed()).toEqual([expect.any(Number), chat.id]);
  expect(await textsOf()).toEqual(before);
  expect(summaryOf(await client.get(`/chats/${old.id}?external_user_id=${user}`))).toContain('404');
  dataOf(await client.delete(addressOf(user)));
  dataOf(await client.delete(addressOf(user)));
  await expect.poll(listed, waiting).toEqual([]);
  await expect.poll(textsOf, waiting).toEqual({ ofBatch: [null], ratings: 0, messages: 0 });
  const again = await tenant.createChat({ external_user_id: user });
  expect(await listed()).toEqual([again.id]);
});

it('leaves nothing of a user of whom nothing is stored', async () => {
  const user = `user-${randomUUID()}`;
  const ofWorkspace = async () =>
    (await table.readAll()).filter(({ pk }) => String(pk).startsWith(`W#${workspaceId}#`)).length;
  const before = await ofWorkspace();
  expect((await client.delete(addressOf(user))).status).toBe(202);
  await age(user);
  expect(await everythingWith(user)).toEqual([]);
  expect(await ofWorkspace()).toBe(before);
});

it('accepts any key of the workspace, and no request without a user', async () => {
  expect(summaryOf(await client.delete('/users'))).toMatch(/^400\/10006 .*external_user_id/);
  expect(summaryOf(await client.delete('/users?external_user_id='))).toMatch(/^400\/10006 /);
  expect(summaryOf(await client.delete(addressOf('x'.repeat(257))))).toMatch(/^400\/10006 /);
  expect((await client.delete(addressOf('never-seen'))).status).toBe(202);
  // In whitelist mode too: users that were listed once can be erased.
  const listed = await openTenant(service, { whitelist: ['ann'] });
  expect((await listed.client.delete(addressOf('bob'))).status).toBe(202);
});

it('agentctl erases a user at once, also a reply in progress, and ends with a scan that finds nothing', async () => {
  const cleo = await furnish(shared);
  const said = await everythingWith(`Shared batch ${cleo.mark}`);
  const called = callFor(`Open ${cleo.mark}`);
  const body = { message: `Open ${cleo.mark}`, agent_id, external_user_id: cleo.user, resumable: true };
  const events = stepThrough(await client.stream(cleo.own.id, body));
  const call = await called;
  call.chunk(`Never ends ${cleo.mark}`);
  await events.next();
  // As items of earlier versions: a rating without its entry, and an audit entry with names.
  await table.writeItems([
    {
      ...keys.feedback(workspaceId, shared.id, 2, `${cleo.user}`),
      ...{ type: 'sys_improve', content: cleo.mark, created_at: '2027-01-01T00:00:00.000Z' },
    },
    {
      ...keys.operatorsAudit('2027-01-01T00:00:00.000Z', 'old'),
      ...{ workspace_id: workspaceId, action: 'whitelist extended', changes: { users: ['x', cleo.user] } },
    },
  ]);
  await table.removeItems([keys.userRating(workspaceId, cleo.user, shared.id, 2)]);
  const erased = await agentctl.json('users', 'erase', '--workspace', workspaceId, cleo.user);
  expect(erased).toMatchObject({ chats: 2, ratings: 0, batch_requests: 3, others: expect.any(Number) });
  const left = (await everythingWith(cleo.mark)).filter((stored) => !said.includes(stored));
  expect(left).toEqual([]);
  expect(await eventsOf(cleo.own)).toEqual([]);
  call.finish();
  await events.rest();
  expect((await everythingWith(cleo.mark)).filter((stored) => !said.includes(stored))).toEqual([]);
  const records = (await table.readAll()).filter(
    ({ work }) => (work as { chatId?: number })?.chatId === cleo.own.id,
  );
  expect(records).toEqual([]);
});

it('agentctl says what a failed run has erased, and what it and the next one did together', async () => {
  const proxy = closeAfterTests(await startDynamoProxy());
  proxy.emulator = service.run.endpoints.dynamodb;
  const endpoints = { ...service.run.endpoints, dynamodb: proxy.url };
  // Another list of knowledge bases is another data folder.
  const ofProxy = agentctlOf({ ...service, run: { ...service.run, endpoints } }, ['UNUSED0000']);
  const user = `user-${randomUUID()}`;
  for (let created = 0; created < 3; created += 1) await tenant.createChat({ external_user_id: user });
  await talk(shared, user, `Said ${user}`);
  await rate(shared, user, `Rated ${user}`);
  const erase = () => ofProxy.run('users', 'erase', '--workspace', workspaceId, user);
  const message = 'User: ann is not authorized to perform: dynamodb:Scan on resource: table';
  const denied = { status: 400, body: JSON.stringify({ __type: 'AccessDeniedException', message }) };
  proxy.handle = async ({ target }, pass) => (target === 'Scan' ? denied : pass());
  const counts = '3 chats, 1 rating in other chats, 0 batch requests and 0 other items';
  expect(await erase()).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringMatching(
      new RegExp(
        `Erased so far: ${counts}\\. Run the command again: .*\nAWS does not allow ann to do dynamodb:Scan`,
      ),
    ),
  });
  await tenant.createChat({ external_user_id: user });
  let broken = 0;
  proxy.handle = async ({ target }, pass) => {
    if (target !== 'Scan' || broken > 12) return pass();
    broken += 1;
    return undefined;
  };
  const { code, stdout } = await erase();
  expect([code, broken]).toEqual([0, 13]);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ chats: 4, ratings: 1, by_previous_runs: { chats: 3, ratings: 1, batch_requests: 0, others: 0 } },
  });
  expect(JSON.parse((await erase()).stdout)).toMatchObject({ chats: 0, by_previous_runs: { chats: 0 } });
});

it('agentctl names what is wrong with the arguments of an erasure', async () => {
  const erase = (workspace: string, user: string) =>
    agentctl.run('users', 'erase', '--workspace', workspace, user);
  expect((await erase('ws_none', 'user')).stderr).toContain('Workspace ws_none not found');
  expect((await erase(workspaceId, '')).stderr).toContain('must not be empty');
});
