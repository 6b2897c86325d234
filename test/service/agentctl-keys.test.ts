import { expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

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

const service = await useService();

it('prints a name of a file or a person without the characters that control a terminal, and JSON with its values', async () => {
  const { json, run } = agentctlOf(service);
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
  const { json, run } = agentctlOf(service);
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
