import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);
const agentctl = agentctlOf(service);
const folder = await temporaryFolder('agentctl-workspaces-');

interface Named {
  id: string;
  name: string;
}

const create = (name: string) => agentctl.json<Named>('workspaces', 'create', '--name', name);

it('renames a workspace, which commands then find by its name or its id', async () => {
  const [old, name] = [`Old ${randomUUID()}`, `New ${randomUUID()}`];
  const { id } = await create(old);
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
  const ids = [await create(name), await create(name)].map(({ id }) => id).toSorted();
  const { code, stderr } = await agentctl.run('whitelist', 'add', '--workspace', name, 'ada');
  expect([code, stderr]).toEqual([
    1,
    `2 workspaces are called ${name}: give the id, one of ${ids.join(', ')}\n`,
  ]);
  // An id is one even if it is also the name of another workspace.
  const [first = ''] = ids;
  await create(first);
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
  const { workspaceId, agentId } = tenant;
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
