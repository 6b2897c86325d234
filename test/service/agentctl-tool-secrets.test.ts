import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { agentctlWords } from '#support/agentctl-process.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { openTenant } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const { workspaceId } = await openTenant(service);
const agentctl = agentctlOf(service);
const table = closeAfterTests(dataTableOf(service));
const value = 'canary-secret-1';

/** `agentctl secrets set …` with the value on standard input. */
async function set(input: string, ...args: string[]) {
  await agentctl.run('secrets', 'list', '--workspace', workspaceId);
  const [node = '', ...words] = agentctlWords('secrets', 'set', ...args, '--workspace', workspaceId);
  const child = spawn(node, [...words, '--data', agentctl.data, '--json']);
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr };
}
const list = () => agentctl.json('secrets', 'list', '--workspace', workspaceId);

it('sets, lists and removes a secret, and never prints it', async () => {
  const hosts = ['mcp.crm.example:443', '127.0.0.1:8080'];
  const { stdout } = await set(`${value}\n`, 'crm', '--host', ...hosts);
  expect(JSON.parse(stdout)).toMatchObject({ name: 'crm', hosts: hosts.toSorted() });
  expect(await list()).toEqual({
    workspace_id: workspaceId,
    secrets: [{ name: 'crm', hosts: hosts.toSorted(), updated_at: expect.any(String) }],
  });
  const item = await table.read({ pk: `W#${workspaceId}#SECRETS`, sk: 'crm' });
  expect(Object.keys(item ?? {}).toSorted()).toEqual(['encrypted', 'hosts', 'pk', 'sk', 'updated_at']);
  expect(JSON.stringify(item)).not.toContain(value);
  const audit = await agentctl.json('audit', '--workspace', workspaceId);
  expect(audit).toMatchObject({
    entries: expect.arrayContaining([expect.objectContaining({ action: 'secret set', target_id: 'crm' })]),
  });
  expect(JSON.stringify(audit)).not.toContain(value);
  await agentctl.json('secrets', 'remove', 'crm', '--workspace', workspaceId);
  expect(await list()).toMatchObject({ secrets: [] });
  expect((await agentctl.run('secrets', 'remove', 'crm', '--workspace', workspaceId)).stderr).toContain(
    'The workspace has no secret crm',
  );
});

it.each([
  ['1234567', ['crm', '--host', 'a.example:443'], 'The value must have 8 to 4096 printable ASCII characters'],
  ['x'.repeat(4097), ['crm', '--host', 'a.example:443'], 'The value must have 8 to 4096'],
  ['two\nlines!', ['crm', '--host', 'a.example:443'], 'printable ASCII'],
  [value, ['crm', '--host', 'a.example'], '--host a.example must be HOST:PORT'],
  [value, ['crm', '--host', 'a.example:*'], '--host a.example:* must be HOST:PORT'],
  [value, ['Crm', '--host', 'a.example:443'], 'The name must be a lower-case letter'],
])('rejects what cannot be a secret', async (input, args, message) => {
  expect((await set(input, ...args)).stderr).toContain(message);
});
