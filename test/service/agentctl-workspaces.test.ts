import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { publishAgent, unpublishAgent, updateAgent } from '#domain/agents/agents.ts';
import { createApiKey, rotateApiKey } from '#domain/workspaces/api-keys.ts';
import { createWorkspace as createWorkspaceIn } from '#domain/workspaces/workspaces.ts';
import { auditLog } from '#runtime/composition/services.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { agentctlWords } from '#support/agentctl-process.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { dataTableOf } from '#support/data-table.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const { workspaceId } = tenant;
const agentctl = agentctlOf(service);
const { json, run } = agentctl;
const folder = await temporaryFolder('agentctl-workspaces-');
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
  expect(entries).toContainEqual(
    expect.objectContaining({
      ...{ action: 'workspace updated', target_id: id, changes: { name: { from: old, to: name } } },
    }),
  );
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

it('calls the id of what a command is about "id", and others "…_id"', async () => {
  const { agentId } = tenant;
  const [agentFile, document] = [join(folder, 'agent.json'), join(folder, 'hours.txt')];
  await writeFile(agentFile, JSON.stringify({ name: 'Clerk' }));
  await writeFile(document, 'Open from nine to five');
  const ofWorkspace = ['--workspace', workspaceId];
  const objects: unknown[] = [];
  for (const command of [
    ['workspaces', 'create', '--name', 'Ids'],
    ['workspaces', 'list'],
    ['keys', 'create', ...ofWorkspace],
    ['keys', 'list', ...ofWorkspace],
    ['agents', 'create', ...ofWorkspace, '--file', agentFile],
    ['agents', 'update', agentId, '--file', agentFile],
    ['agents', 'publish', agentId],
    ['agents', 'unpublish', agentId],
    ['agents', 'list', ...ofWorkspace],
    ['agents', 'versions', agentId],
    ['knowledge', 'add', ...ofWorkspace, document],
    ['knowledge', 'list', ...ofWorkspace],
    ['knowledge', 'remove', ...ofWorkspace, 'hours.txt'],
  ]) {
    const result = await agentctl.json<object>(...command);
    const list = Object.values(result).find((value) => Array.isArray(value));
    objects.push(...((list as unknown[] | undefined) ?? [result]));
  }
  expect(objects.length).toBeGreaterThan(13);
  for (const object of objects) expect(object).toMatchObject({ id: expect.any(String) });
  for (const name of ['key_id', 'document_id'])
    expect(objects.filter((object) => Object.keys(object as object).includes(name))).toEqual([]);
  const entries = await agentctl.json<{ entries: object[] }>('audit', ...ofWorkspace);
  for (const entry of entries.entries)
    expect(entry).toMatchObject({ workspace_id: workspaceId, target_id: expect.any(String) });
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

const allowed = '200/0 success';
const rejected = '400/10001 Missing or invalid API key: send a valid key in the header x-api-key';

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

it('a key is rotated: both work for the overlap, then the new one alone, and the list tells which were used', async () => {
  const { workspaceId } = await openTenant(service);
  const summaryWith = async (apiKey: string): Promise<string> =>
    summaryOf(await clientOf(service, { apiKey }).get('/chats'));
  const listed = async (): Promise<Map<string, Key>> => {
    const { keys } = await json<{ keys: Key[] }>('keys', 'list', '--workspace', workspaceId);
    return new Map(keys.map((key) => [key.id, key]));
  };

  const first = await json<Issued>('keys', 'create', '--workspace', workspaceId, '--name', 'shop');
  const rotatedAt = Date.now();
  const second = await json<Issued>('keys', 'rotate', first.id, '--overlap', '2h');
  const hours = (Date.parse(second.old.expires_at ?? '') - rotatedAt) / 3_600_000;
  expect([Math.round(hours), second.old.id]).toEqual([2, first.id]);
  expect(await Promise.all([first, second].map(({ api_key: key }) => summaryWith(key)))).toEqual([
    allowed,
    allowed,
  ]);

  const third = await json<Issued>('keys', 'rotate', first.id, '--overlap', '0m');
  expect(await Promise.all([first, second, third].map(({ api_key: key }) => summaryWith(key)))).toEqual([
    rejected,
    allowed,
    allowed,
  ]);
  const days = [rotatedAt, Date.now()].map((time) => new Date(time).toISOString().slice(0, 10));
  const unused = await json<Issued>('keys', 'create', '--workspace', workspaceId);
  const keys = await listed();
  for (const { id } of [first, second, third]) {
    expect(keys.get(id)?.name).toBe('shop');
    expect(days).toContain(keys.get(id)?.last_used_on);
  }
  expect(keys.get(unused.id)).toMatchObject({ name: null, last_used_on: null, expires_at: null });
  expect(keys.get(first.id)).toEqual(third.old);
  expect(first.api_key).toMatch(
    new RegExp(`^${keys.get(first.id)?.prefix}.*${keys.get(first.id)?.last_four}$`),
  );

  // The key has expired by the first rotation, and no rotation makes it valid again.
  expect(await run('keys', 'rotate', first.id)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`Key ${first.id} has expired: create a new one`),
  });
});

const secret = 'canary-secret-1';

/** `agentctl secrets set …` with the value on standard input. */
async function setSecret(input: string, ...args: string[]) {
  await agentctl.run('secrets', 'list', '--workspace', workspaceId);
  const [node = '', ...words] = agentctlWords('secrets', 'set', ...args, '--workspace', workspaceId);
  const child = spawn(node, [...words, '--data', agentctl.data, '--json']);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr };
}
const listSecrets = () => agentctl.json('secrets', 'list', '--workspace', workspaceId);

it('sets, lists and removes a secret, and never prints it', async () => {
  const hosts = ['mcp.crm.example:443', '127.0.0.1:8080'];
  const { stdout } = await setSecret(`${secret}\n`, 'crm', '--host', ...hosts);
  expect(JSON.parse(stdout)).toMatchObject({ name: 'crm', hosts: hosts.toSorted() });
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
  ['1234567', ['crm', '--host', 'a.example:443'], 'The value must have 8 to 4096 printable ASCII characters'],
  ['x'.repeat(4097), ['crm', '--host', 'a.example:443'], 'The value must have 8 to 4096'],
  ['two\nlines!', ['crm', '--host', 'a.example:443'], 'printable ASCII'],
  [secret, ['crm', '--host', 'a.example'], '--host a.example must be HOST:PORT'],
  [secret, ['crm', '--host', 'a.example:*'], '--host a.example:* must be HOST:PORT'],
  [secret, ['Crm', '--host', 'a.example:443'], 'The name must be a lower-case letter'],
])('rejects what cannot be a secret', async (input, args, message) => {
  expect((await setSecret(input, ...args)).stderr).toContain(message);
});

interface Entry {
  at: string;
  actor: string;
  action: string;
  workspace_id: string;
  target_id: string;
  changes: Record<string, unknown>;
}

const today = new Date().toISOString().slice(0, 10);
const entriesOf = async (workspaceId?: string) =>
  (await Array.fromAsync(auditLog().between(workspaceId, today, '2999-12-31'))).flat();

it('every change of an operator tells who made it, when, to what, and what is different', async () => {
  const services = operator();
  const { id: workspace } = await createWorkspaceIn(services, {
    name: 'Audited',
    whitelistEnabled: true,
    limits: 'default',
  });
  const issued = await createApiKey(services, { workspaceId: workspace, name: null, expiresAt: null });
  const { apiKey: firstKey } = issued;
  const key = issued.key.id;
  await services.workspaces.addToWhitelist(workspace, ['ann', 'bob']);
  const rotated = await rotateApiKey(services, { keyId: key, overlap: 1000, expiresAt: null });
  await services.apiKeys.revoke(key, new Date().toISOString());
  // The second revocation changes nothing, so it has no entry.
  await services.apiKeys.revoke(key, new Date().toISOString());
  const file = join(folder, 'handbook.md');
  await writeFile(file, '# Handbook\n\nThe word is canary-document.\n');
  await Promise.all([
    agentctl.json('workspaces', 'update', workspace, '--enabled', 'off'),
    agentctl.json('knowledge', 'add', '--workspace', workspace, file),
  ]);

  const { entries } = await agentctl.json<{ entries: Entry[] }>('audit', '--workspace', workspace);
  expect(entries.every(({ actor }) => actor === `local user ${userInfo().username}`)).toBe(true);
  expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted());
  expect(entries.every(({ workspace_id }) => workspace_id === workspace)).toBe(true);
  const shown = Object.fromEntries(
    entries.map(({ action, target_id: target, changes }) => [action, { target, changes }]),
  );
  expect(entries).toHaveLength(7);
  const hash = expect.stringMatching(/^user_[\da-f]{32}$/);
  expect(shown).toEqual({
    'workspace created': {
      target: workspace,
      changes: { name: 'Audited', whitelistEnabled: true, limits: 'default' },
    },
    'workspace updated': { target: workspace, changes: { enabled: { from: true, to: false } } },
    'key created': {
      target: key,
      changes: { name: null, expires_at: null, key: `${firstKey.slice(0, 7)}…${firstKey.slice(-4)}` },
    },
    'key rotated': {
      target: key,
      changes: expect.objectContaining({ new_key_id: rotated.key.id, ends: expect.anything() }),
    },
    'key revoked': { target: key, changes: { revoked_at: expect.any(String) } },
    'whitelist extended': { target: workspace, changes: { users: [hash, hash] } },
    'knowledge changed': {
      target: workspace,
      changes: { put: [{ document_id: expect.any(String), name: 'handbook.md' }], removed: [] },
    },
  });
  const all = JSON.stringify([entries, await entriesOf()]);
  for (const secret of [firstKey, rotated.apiKey, 'canary-document']) expect(all).not.toContain(secret);
  // The list of all workspaces contains the same entries.
  expect((await entriesOf()).filter(({ workspaceId }) => workspaceId === workspace)).toHaveLength(7);
});

it('changes of an agent name its fields and not its texts, and a change that is refused leaves nothing', async () => {
  const { workspaceId, agentId } = await openTenant(service);
  const services = operator();
  const agent = await services.agents.get(workspaceId, agentId);
  if (agent === undefined) throw new Error('no agent');
  const definition = { ...agent.definition, system_prompt: 'canary-prompt', llm_model: 'openai:other' };
  await updateAgent(services, { agentId, definition });
  await publishAgent(services, agentId);
  await unpublishAgent(services, agentId);
  await expect(services.agents.save(agent, 'unchanged')).rejects.toThrow('changed by someone else');

  const entries = (await entriesOf(workspaceId)).filter(({ target }) => target === agentId);
  expect(entries.map(({ action, changes }) => ({ action, changes }))).toEqual([
    { action: 'agent created', changes: { name: 'Test agent', llm_model: 'demo' } },
    { action: 'agent published', changes: { version: 1, version_id: expect.any(String) } },
    {
      action: 'agent updated',
      changes: {
        fields: ['llm_model', 'system_prompt'],
        llm_model: { from: 'demo', to: 'openai:other' },
      },
    },
    { action: 'agent published', changes: { version: 2, version_id: expect.any(String) } },
    { action: 'agent unpublished', changes: {} },
  ]);
  expect(JSON.stringify(entries)).not.toContain('canary-prompt');
});
