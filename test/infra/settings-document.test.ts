import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingLines } from '#lib/settings/setting-lines.ts';
import { settingGroups } from '#lib/settings.ts';
import { renderSettings } from '../../bin/settings/render-settings.ts';

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

test('every setting has a type and a default', () => {
  const unclear = lines.filter((line) => line.type === '' || line.default === '');
  expect(unclear.map(({ path }) => path)).toEqual([]);
  expect(renderSettings()).not.toMatch(/NaN|undefined|\[object/);
});

test('a line has the type, the default and the limits of its setting', () => {
  const lineOf = (path: string) =>
    lines.filter((line) => line.path === path).map(({ description: _, ...line }) => line);
  expect(lineOf('`webEnvironments`')).toEqual([
    { path: '`webEnvironments`', type: 'whole number', default: '`100`', limits: '2 to 10,000' },
  ]);
  expect(lineOf('`streamTimeoutSeconds`')).toMatchObject([{ limits: 'at least 1, less than 300' }]);
  expect(lineOf('`accountConcurrency`')).toMatchObject([{ limits: 'at least 1' }]);
  expect(lineOf('`rateLimits.sends`')).toMatchObject([{ default: '`5/s:10`' }]);
  expect(lineOf('`domain.hostedZone.id`')).toMatchObject([{ default: 'required' }]);
  expect(lineOf('`webSearch`')).toMatchObject([{ type: 'object', default: 'none' }]);
  expect(lineOf('`webSearch.url` with `searxng`')).toMatchObject([{ default: 'required' }]);
  expect(lineOf('`alarmEmails`')).toMatchObject([{ type: 'list of emails', limits: 'at most 10 items' }]);
});
