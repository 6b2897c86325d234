import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingLines } from '#lib/settings/setting-lines.ts';
import { settingGroups } from '#lib/settings.ts';

const groups = Object.values(settingGroups);
const lines = groups.flatMap(settingLines);

test('the committed docs/settings.md is the one that the schema makes', () => {
  const run = spawnSync(process.execPath, ['bin/settings.ts', '--check'], {
    cwd: join(import.meta.dirname, '..', '..'),
    encoding: 'utf8',
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
});

test('every setting, and every property of one, has a description', () => {
  expect(lines.length).toBeGreaterThan(50);
  const silent = lines.filter(({ description }) => !/^\S.*\.$/.test(description));
  expect(silent.map(({ path }) => path)).toEqual([]);
});
