import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { agentctlWords } from '#support/agentctl-process.ts';
import { startProgram } from '#support/command.ts';
import { ownCacheFolder } from '../../bin/own-cache-folder.ts';

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'cache-home-'));

/** The folder that would be used below an empty folder for caches. */
function expectedFolder(): string {
  const home = emptyFolder();
  vi.stubEnv('XDG_CACHE_HOME', home);
  return join(home, 'agentctl');
}
afterEach(() => vi.unstubAllEnvs());

test('the folder for compiled code is open to its user alone', () => {
  const folder = expectedFolder();
  expect(ownCacheFolder()).toBe(folder);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(ownCacheFolder()).toBe(folder);
});

test('a folder into which others may write is not used, and neither are a link, a file or a missing home', () => {
  const open = expectedFolder();
  mkdirSync(open);
  chmodSync(open, 0o770);
  expect(ownCacheFolder()).toBeUndefined();
  const link = expectedFolder();
  symlinkSync(emptyFolder(), link);
  expect(ownCacheFolder()).toBeUndefined();
  writeFileSync(expectedFolder(), '');
  expect(ownCacheFolder()).toBeUndefined();
  vi.stubEnv('XDG_CACHE_HOME', '/dev/null/cache');
  expect(ownCacheFolder()).toBeUndefined();
});

test('agentctl puts its compiled code there, and nothing into the shared temporary folder', async () => {
  const [cacheHome, temporary] = [emptyFolder(), emptyFolder()];
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env;
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
  const { ended } = startProgram(agentctlWords('--version'), {
    ...(inherited as Record<string, string>),
    XDG_CACHE_HOME: cacheHome,
    TMPDIR: temporary,
  });
  expect(await ended).toMatchObject({ code: 0 });
  expect(readdirSync(join(cacheHome, 'agentctl')).length).toBeGreaterThan(0);
  expect(readdirSync(temporary)).toEqual([]);
});

const program = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /node_modules\\/(@aws-sdk\\/client-[a-z0-9-]+)/.exec(url) ?? [];
    if (name !== undefined) loaded.add(name);
    return nextLoad(url, context);
  },
});
for (const commands of ['chat', 'batch']) await import(\`./bin/agentctl/\${commands}-commands.ts\`);
console.log(JSON.stringify([...loaded]));
`;

test('the commands of clients, which people start often, load no client of AWS', async () => {
  const args = [process.execPath, '--input-type=module', '--no-warnings', '--eval', program];
  expect(await startProgram(args, {}).ended).toMatchObject({ stdout: '[]\n', stderr: '', code: 0 });
});
