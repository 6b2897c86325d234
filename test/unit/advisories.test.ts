import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const project = join(import.meta.dirname, '../..');

/** What `npm run advisories` prints for a lock file with these packages, each by its path. */
function check(packages: Record<string, { name?: string; version?: string; dev?: true; link?: true }>) {
  const folder = mkdtempSync(join(tmpdir(), 'advisories-test-'));
  try {
    const file = join(folder, 'package-lock.json');
    writeFileSync(file, JSON.stringify({ packages }));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(project, 'test/support/check-advisories.ts'), file],
      { encoding: 'utf8' },
    );
    return { status, stdout, found: stderr.split('\n').filter((line) => line !== '') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a lock file with a vulnerable version fails, with each package, its place, the advisory and the fix', () => {
  const { status, stdout, found } = check({
    '': { version: '1.0.0' },
    // The last version with the weakness, and the first without.
    'node_modules/one/node_modules/nanoid': { version: '3.3.7' },
    'node_modules/nanoid': { version: '3.3.8' },
    'node_modules/two/node_modules/nanoid': { version: '4.0.0' },
    // No version is fixed.
    'node_modules/dicer': { version: '0.3.1', dev: true },
    // A prerelease, and a package under another name.
    'node_modules/koa': { version: '2.9.0-rc.1' },
    'node_modules/old-cookie': { name: 'cookie', version: '0.6.0' },
    // The project's own package in a workspace.
    'lib/dicer': { version: '0.3.1' },
  });
  expect(found).toEqual([
    'nanoid 3.3.7 (node_modules/one/node_modules/nanoid): GHSA-mwcw-c2x4-8c55, Predictable ids for sizes that are no integers. Fixed in 3.3.8, 5.0.9.',
    'nanoid 4.0.0 (node_modules/two/node_modules/nanoid): GHSA-mwcw-c2x4-8c55, Predictable ids for sizes that are no integers. Fixed in 3.3.8, 5.0.9.',
    'dicer 0.3.1 (node_modules/dicer): GHSA-wm7h-9275-46v2, A malformed part header crashes the process. Fixed in no version.',
    expect.stringMatching(/^koa 2\.9\.0-rc\.1 .*GHSA-593f-38f6-jp5m/),
    expect.stringMatching(/^koa 2\.9\.0-rc\.1 .*GHSA-x2rg-q646-7m2v/),
    expect.stringMatching(/^cookie 0\.6\.0 \(node_modules\/old-cookie\): GHSA-pxg6-pf52-xh8x/),
  ]);
  expect(stdout).toContain('6 packages');
  expect(stdout).toContain('6 apply');
  expect(status).toBe(1);
});

test('a lock file without one passes, and one without packages does not', () => {
  const fixed = check({ 'node_modules/koa': { version: '3.3.0' }, 'node_modules/link': { link: true } });
  expect([fixed.status, fixed.found]).toEqual([0, []]);
  expect(fixed.stdout).toContain('1 packages');
  const empty = check({ '': { version: '1.0.0' } });
  expect(empty.status).toBe(1);
  expect(empty.found.join('\n')).toContain('The lock files name no package');
});
