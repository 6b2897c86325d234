import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import { messageId } from '#domain/chats/message.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended, readJsonLines } from '#support/command-end.ts';
import { dataTableOf } from '#support/data-table.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { createTenant } from '#support/service.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const { workspaceId } = tenant;
const agentctl = agentctlOf(service);
const { json, run } = agentctl;
const table = closeAfterTests(dataTableOf(service));

interface Named {
  id: string;
  name: string;
}

const createWorkspace = (name: string) => agentctl.json<Named>('workspaces', 'create', '--name', name);

it('renames a workspace, which commands then find by its name or its id', async () => {
  const [old, name] = [`Old ${randomUUID()}`, `New ${randomUUID()}`];
  const { id } = await createWorkspace(old);
  expect(await agentctl.json('workspaces', 'update', old, '--name', name)).toMatchObject({ id, name });
  expect(await agentctl.json('workspaces', 'get', name)).toMatchObject({ id, name });
  expect(await agentctl.json('workspaces', 'get', id)).toMatchObject({ id, name });
  expect((await agentctl.run('workspaces', 'get', old)).stderr).toBe(`Workspace ${old} not found\n`);
  const key = await agentctl.json<Named>('keys', 'create', '--workspace', name);
  const { keys } = await agentctl.json<{ keys: Named[] }>('keys', 'list', '--workspace', id);
  expect(keys.map((each) => each.id)).toEqual([key.id]);
  const { entries } = await agentctl.json<{ entries: unknown[] }>('audit', '--workspace', name);
  const common = { workspace_id: id, actor: `local user ${userInfo().username}`, at: expect.any(String) };
  const created = { name: old, whitelistEnabled: false, limits: 'default' };
  expect(entries).toEqual([
    { ...common, action: 'workspace created', target_id: id, changes: created },
    { ...common, action: 'workspace updated', target_id: id, changes: { name: { from: old, to: name } } },
    expect.objectContaining({ ...common, action: 'key created', target_id: key.id }),
  ]);
  for (const [wrong, problem] of [
    ['', 'must not be empty'],
    ['x'.repeat(257), 'must be at most 256 characters'],
  ] as const)
    expect(await agentctl.run('workspaces', 'update', id, '--name', wrong)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining(problem) },
    });
  await agentctl.json('workspaces', 'update', id, '--name', 'x'.repeat(256));
});

it('rejects a name that several workspaces have, and lists their ids', async () => {
  const name = `Twice ${randomUUID()}`;
  const ids = [await createWorkspace(name), await createWorkspace(name)].map(({ id }) => id).toSorted();
  expect(await agentctl.run('whitelist', 'add', '--workspace', name, 'ada')).toMatchObject(
    ended(1, `2 workspaces are called ${name}: give the id, one of ${ids.join(', ')}\n`),
  );
  // An id is one even if it is also the name of another workspace.
  const [first = ''] = ids;
  await createWorkspace(first);
  expect(await agentctl.json('workspaces', 'get', first)).toMatchObject({ id: first, name });
});

it('lists the users of a whitelist', async () => {
  const list = (...workspace: string[]) => agentctl.json('whitelist', 'list', '--workspace', ...workspace);
  const { workspaceId: id } = tenant;
  expect(await list(id)).toEqual({ workspace_id: id, users: [] });
  expect(await agentctl.lines('whitelist', 'list', '--workspace', id)).toEqual(['No users']);
  await agentctl.json('whitelist', 'add', '--workspace', id, 'zoë', 'ada', 'bob');
  await agentctl.json('whitelist', 'remove', '--workspace', id, 'bob');
  expect(await list(id)).toEqual({ workspace_id: id, users: ['ada', 'zoë'] });
  expect(await agentctl.lines('whitelist', 'list', '--workspace', id)).toEqual(['ada', 'zoë']);
});

interface Key {
  id: string;
  name: string | null;
  prefix: string;
  last_four: string;
  expires_at: string | null;
  last_used_on: string | null;
}
interface Issued {
  id: string;
  api_key: string;
  old: Key;
}

it('prints a name of a file or a person without the characters that control a terminal, and JSON with its values', async () => {
  const { workspaceId } = await openTenant(service);
  const name = 'a\u001b[2J\u009b2J\u2028\u202eb';
  await run('keys', 'create', '--workspace', workspaceId, '--name', name);
  const list = ['keys', 'list', '--workspace', workspaceId];
  const shown = String.raw`a\u001b[2J\u009b2J\u2028\u202eb`;
  expect((await run(...list)).stdout).toContain(shown);
  expect((await run('--json', ...list)).stdout).toContain(shown);
  expect((await json<{ keys: Key[] }>(...list)).keys.map((key) => key.name)).toContain(name);
  const failure = await run('keys', 'rotate', name);
  expect(failure.stderr).toContain(shown);
  expect((await run('keys', name)).stderr).toContain(shown);
});

it('rotates a key with the given overlap, and lists both', async () => {
  const { workspaceId } = await openTenant(service);
  const first = await json<Issued>('keys', 'create', '--workspace', workspaceId, '--name', 'shop');
  const rotatedAt = Date.now();
  const second = await json<Issued>('keys', 'rotate', first.id, '--overlap', '2h');
  const hours = (Date.parse(second.old.expires_at ?? '') - rotatedAt) / 3_600_000;
  expect([Math.round(hours), second.old.id]).toEqual([2, first.id]);
  const third = await json<Issued>('keys', 'rotate', first.id, '--overlap', '0m');
  expect(Date.parse(third.old.expires_at ?? '')).toBeLessThanOrEqual(Date.now());
  const { keys } = await json<{ keys: Key[] }>('keys', 'list', '--workspace', workspaceId);
  const ids = [first, second, third].map(({ id }) => id);
  expect(keys.filter(({ name }) => name === 'shop').map(({ id }) => id)).toEqual(ids);
  const old = keys.find(({ id }) => id === first.id);
  expect(old).toEqual(third.old);
  expect(first.api_key).toMatch(new RegExp(`^${old?.prefix}.*${old?.last_four}$`));
});

const secret = 'canary-secret-1';

const setSecret = (value: string, name: string, ...hosts: string[]) =>
  agentctl.setSecret(workspaceId, name, value, ...hosts);
const listSecrets = () => agentctl.json('secrets', 'list', '--workspace', workspaceId);

it('sets, lists and removes a secret, and never prints it', async () => {
  const hosts = ['mcp.crm.example:443', '127.0.0.1:8080'];
  const printed = await setSecret(`${secret}\n`, 'crm', ...hosts);
  expect(JSON.parse(printed)).toMatchObject({ name: 'crm', hosts: hosts.toSorted() });
  expect(await listSecrets()).toEqual({
    workspace_id: workspaceId,
    secrets: [{ name: 'crm', hosts: hosts.toSorted(), updated_at: expect.any(String) }],
  });
  const item = await table.read({ pk: `W#${workspaceId}#SECRETS`, sk: 'crm' });
  expect(Object.keys(item ?? {}).toSorted()).toEqual(['encrypted', 'hosts', 'pk', 'sk', 'updated_at']);
  expect(JSON.stringify(item)).not.toContain(secret);
  const audit = await agentctl.json('audit', '--workspace', workspaceId);
  expect(audit).toMatchObject({
    entries: expect.arrayContaining([expect.objectContaining({ action: 'secret set', target_id: 'crm' })]),
  });
  expect(JSON.stringify(audit)).not.toContain(secret);
  await agentctl.json('secrets', 'remove', 'crm', '--workspace', workspaceId);
  expect(await listSecrets()).toMatchObject({ secrets: [] });
  expect((await agentctl.run('secrets', 'remove', 'crm', '--workspace', workspaceId)).stderr).toContain(
    'The workspace has no secret crm',
  );
});

it.each([
  ['1234567', 'crm', 'a.example:443', 'The value must have 8 to 4096 printable ASCII characters'],
  ['x'.repeat(4097), 'crm', 'a.example:443', 'The value must have 8 to 4096'],
  ['two\nlines!', 'crm', 'a.example:443', 'printable ASCII'],
  [secret, 'crm', 'a.example', '--host a.example must be HOST:PORT'],
  [secret, 'crm', 'a.example:*', '--host a.example:* must be HOST:PORT'],
  [secret, 'Crm', 'a.example:443', 'The name must be a lower-case letter'],
])('rejects what cannot be a secret', async (value, name, host, message) => {
  await expect(setSecret(value, name, host)).rejects.toThrow(message);
});

const small = await openTenant(service, { titles: false });
const folder = await temporaryFolder('agentctl-export-');
const out = join(folder, 'chats.jsonl');

it.runIf(process.env.SOAK !== undefined)(
  'holds a chat whose messages are more than the memory of the process',
  async () => {
    const [chatId, messageCount] = [1, 100_000];
    /** All have 100 MB. */
    const text = (position: number) => `Message ${position} `.padEnd(1000, 'x');
    const { workspaceId, agentId } = await createTenant();
    const counts = { count: 1, messageCounts: { [chatId]: messageCount }, near: [chatId] };
    await table.writeItems([
      ...chatItems({ workspaceId, agentId, externalUserId: 'user-1', ...counts }),
      ...messageItems({ workspaceId, chatId, first: 1, count: messageCount, content: text }),
    ]);
    // The first call of a command is a process of its own.
    process.env.NODE_OPTIONS = '--max-old-space-size=64';
    const run = agentctl.run('chats', 'export', '--workspace', workspaceId, '--out', out);
    delete process.env.NODE_OPTIONS;
    const { code, stdout, stderr } = await run;
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ file: out, chats: 1, messages: messageCount });
    expect((await stat(out)).size).toBeGreaterThan(100_000_000);
    let count = -1;
    for await (const line of createInterface({ input: createReadStream(out) })) {
      count += 1;
      if (count === 0) expect(JSON.parse(line)).toMatchObject({ type: 'chat', id: chatId });
      // To parse each would take seconds.
      else if (!line.includes(`"id":${messageId(chatId, count)},`) || !line.includes(text(count)))
        throw new Error(`Line ${count + 1} is ${line}`);
    }
    expect(count).toBe(messageCount);
  },
);

it('holds what the histories show, of all users or of one, with files by their names', async () => {
  const upload = await uploaderOf(service, small).file('notes.txt', 'Notes');
  const { uuid } = dataOf(upload) as { uuid: string };
  const expected = new Map<string, unknown[]>();
  for (const user of ['ann', 'ü/ser %2e', 'ann']) {
    const created = await small.createChat({ external_user_id: user, name: `Of ${user}` });
    dataOf(await small.send(created, { message: 'With a file', attached_file_uuids: [uuid] }));
    const history = () => small.history(created);
    const [, reply] = await history();
    const feedback = { external_user_id: user, type: 'sys_improve', content: 'Longer' };
    dataOf(await small.client.post(`/chats/${created.id}/messages/${reply?.id}/feedbacks`, feedback));
    const chat = dataOf(await small.client.get<ChatResource[]>('/chats')).find(({ id }) => id === created.id);
    expected.set(user, [...(expected.get(user) ?? []), ...asLines(chat, await history())]);
  }
  const options = ['--workspace', small.workspaceId, '--out', out];
  await agentctl.json('chats', 'export', ...options);
  const all = await readJsonLines(out);
  expect(all).toHaveLength(9);
  for (const [user, lines] of expected) {
    expect(await agentctl.json('chats', 'export', ...options, '--user', user)).toMatchObject({
      chats: lines.length / 3,
      messages: (lines.length * 2) / 3,
    });
    expect(await readJsonLines(out)).toEqual(lines);
    expect(all).toEqual(expect.arrayContaining(lines));
  }
  expect((await stat(out)).mode & 0o777).toBe(0o600);
});

const asLines = (chat: ChatResource | undefined, history: MessageResource[]): unknown[] => [
  { type: 'chat', ...chat },
  ...history.map((message) => ({
    type: 'message',
    chat_id: chat?.id,
    ...message,
    attached_files: message.attached_files.map((file) => ({ ...file, file_url: null })),
  })),
];

it('says what was read before a failure, leaves the file as it is, and goes on after a broken connection', async () => {
  const proxy = closeAfterTests(await startDynamoProxy());
  proxy.emulator = service.run.endpoints.dynamodb;
  const endpoints = { ...service.run.endpoints, dynamodb: proxy.url };
  // Another list of knowledge bases is another data folder.
  const ofProxy = agentctlOf({ ...service, run: { ...service.run, endpoints } }, ['UNUSED0000']);
  const run = () => ofProxy.run('chats', 'export', '--workspace', small.workspaceId, '--out', out);
  await writeFile(out, 'before');
  let reads = 0;
  const denied = { status: 400, body: JSON.stringify({ __type: 'AccessDeniedException', message: '' }) };
  proxy.handle = async ({ target, body }, pass) => {
    if (target === 'Query' && JSON.stringify(body).includes('#C#')) reads += 1;
    return reads === 3 ? denied : pass();
  };
  const failed = await run();
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(
    /chats\.jsonl is unchanged: 3 chats with 4 messages were read\. .*\nAWS does not allow the credentials/,
  );
  expect(await readFile(out, 'utf8')).toBe('before');
  let broken = 0;
  proxy.handle = async ({ target }, pass) => {
    if (target !== 'Query' || broken > 4) return pass();
    broken += 1;
    return undefined;
  };
  const { code, stdout } = await run();
  expect([code, broken, JSON.parse(stdout)]).toEqual([0, 5, { file: out, chats: 3, messages: 6 }]);
});

it('needs a user that is not empty, and a folder for its file', async () => {
  const run = (...args: string[]) =>
    agentctl.run('chats', 'export', '--workspace', small.workspaceId, ...args);
  expect(await run('--out', out, '--user', '')).toMatchObject(ended(1, /must not be empty/));
  expect(await run('--out', join(folder, 'missing', 'chats.jsonl'))).toMatchObject(
    ended(1, /cannot be written: no such file or directory/),
  );
});
