import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

interface Locked {
  version: string;
  resolved?: string;
  integrity?: string;
  license?: string;
  hasInstallScript?: true;
  inBundle?: true;
  link?: true;
  optional?: true;
  os?: string[];
}

const project = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(project, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const runner = JSON.parse(read('local/package.json'));
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const document = read('docs/dependencies.md');

const declared: Record<string, string> = {
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...manifest.optionalDependencies,
  ...runner.dependencies,
  ...runner.optionalDependencies,
};
/** The project's own packages are folders and links to them. */
const locked = Object.entries(lock.packages).filter(([path, { link }]) => /node_modules/.test(path) && !link);
const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** The lines of a document's tables, as cells. */
const linesOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[ -]+\|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([first]) => first !== 'package');
const [ours = '', licences = ''] = document.split('## Licences');

/** Names in backticks. A scope also applies to later names of the cell that have none, as in `@aws-sdk/a`, `b`. */
function namesIn(cell: string): string[] {
  let scope = '';
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => {
    if (name.startsWith('@')) scope = name.slice(0, name.indexOf('/') + 1);
    return name.startsWith('@') || name in declared ? name : scope + name;
  });
}

test('every version is pinned exactly, in the manifest and in the lock file', () => {
  expect(Object.keys(declared).length).toBeGreaterThan(50);
  for (const [name, version] of Object.entries(declared)) {
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
    expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  }
});

test('the client library has no dependency', () => {
  expect(Object.keys(JSON.parse(read('lib/client/package.json')))).not.toContainEqual(
    expect.stringMatching(/dependencies$/i),
  );
});

test('every package is known by its hash, and comes from the registry', () => {
  expect(locked.length).toBeGreaterThan(400);
  for (const [path, { integrity, inBundle, optional, os, resolved }] of locked) {
    // npm writes no hash for parts of other packages, and for binaries of other platforms.
    if (!inBundle && !(optional && os !== undefined))
      expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
    // The lock file names no registry, so that each installation can use its own.
    expect([path, resolved]).toEqual([path, undefined]);
  }
});

test('only packages that are allowed by name run scripts when they are installed, and npm holds them to it', () => {
  const running = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path));
  expect(manifest.allowScripts).toEqual(Object.fromEntries(running.map((name) => [name, true])));
  expect(read('.npmrc')).toMatch(/^strict-allow-scripts=true$/m);
  const [, introduction = ''] = /^# Dependencies\n([^#]*)/.exec(document) ?? [];
  for (const name of running) expect(introduction).toContain(`\`${name}\``);
});

describe('docs/dependencies.md', () => {
  const lines = linesOf(ours);
  const named = lines.flatMap(([cell = '']) => namesIn(cell));
  const covers = (name: string, dependency: string): boolean =>
    name.endsWith('/*') ? dependency.startsWith(name.slice(0, -1)) : name === dependency;

  test('has every dependency, with its licence and a reason', () => {
    for (const dependency of Object.keys(declared))
      expect([dependency, named.some((name) => covers(name, dependency))]).toEqual([dependency, true]);
    for (const [cell, licence = '', reason = ''] of lines)
      expect([cell, licence.length > 2, reason.length > 10]).toEqual([cell, true, true]);
  });

  test('has none that is gone', () => {
    const gone = named.filter(
      (name) => !Object.keys(declared).some((dependency) => covers(name, dependency)),
    );
    expect(gone).toEqual([]);
  });
});

/** Licences that require only their own text and the authors' names. */
const allowed = new Set([
  'MIT',
  'MIT-0',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Zlib',
]);

/** Evaluates an SPDX expression with OR and AND; parentheses are supported only around all of it. */
const isAllowed = (expression: string): boolean =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((licence) => allowed.has(licence)));

/** The licence of a package, also if its package.json has an older form that the lock file does not record. */
function licenceOf(path: string, { license }: Locked): string {
  if (license !== undefined) return license;
  const file = join(project, path, 'package.json');
  if (!existsSync(file)) return 'unknown';
  const { license: own, licenses = [] } = JSON.parse(readFileSync(file, 'utf8'));
  return own?.type ?? own ?? licenses[0]?.type ?? 'unknown';
}

describe('licences', () => {
  const exceptions = linesOf(licences);
  const fits = (pattern: string, path: string): boolean =>
    pattern.endsWith('*') ? nameOf(path).startsWith(pattern.slice(0, -1)) : nameOf(path) === pattern;
  const isException = (path: string): boolean =>
    exceptions.some(([cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].some(([, pattern = '']) => fits(pattern, path)),
    );
  const other = locked.filter(([path, entry]) => !isAllowed(licenceOf(path, entry)));

  test('are such as need no more than a notice, or are named with their reason', () => {
    expect(other.map(([path]) => path).filter((path) => !isException(path))).toEqual([]);
  });

  test('no exception is named that is none any more', () => {
    for (const [cell = '', licence = '', reason = ''] of exceptions) {
      expect([licence.length > 2, reason.length > 10]).toEqual([true, true]);
      for (const [, pattern = ''] of cell.matchAll(/`([^`]+)`/g))
        expect([pattern, other.some(([path]) => fits(pattern, path))]).toEqual([pattern, true]);
    }
  });
});

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
