import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { ended } from '#support/command-end.ts';
import { dataTableOf } from '#support/data-table.ts';
import { openTenant } from '#support/open-tenant.ts';
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
