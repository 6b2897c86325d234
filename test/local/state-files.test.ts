import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openExclusively } from '#local/data/lock.ts';
import { openStoredValues, UnreadableState } from '#local/data/state-file.ts';
import { openExecutionLog } from '#local/step-functions/execution-log.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'state-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

const execution = {
  arn: 'arn:one',
  machineArn: 'arn',
  name: 'one',
  input: '{}',
  startedAt: Date.now(),
  status: 'SUCCEEDED' as const,
};

it.each([
  ['keys', '{"one":"tw'],
  ['keys', ''],
  ['keys', '["one"]'],
  ['keys', 'null'],
  ['keys', '{"one":2}'],
])('%s.json with %j is named, and not quoted', async (name, text) => {
  await writeFile(path.join(folder, `${name}.json`), text);
  const opening = openStoredValues(folder, name);
  await expect(opening).rejects.toThrow(UnreadableState);
  await expect(opening).rejects.toThrow(
    new RegExp(`^${path.join(folder, `${name}.json`)} cannot be read: [^\\n"]+$`),
  );
});

it('a file that may not be read is no empty one', async () => {
  await writeFile(path.join(folder, 'not-a-folder'), '');
  await expect(openStoredValues(path.join(folder, 'not-a-folder'), 'keys')).rejects.toThrow(/keys\.json/);
});

it.each([['not JSON'], ['{}'], ['null']])('an execution %s is named by its line', async (line) => {
  const file = path.join(folder, 'executions.jsonl');
  await writeFile(file, `${JSON.stringify(execution)}\n${line}\n`);
  await expect(openExecutionLog(folder)).rejects.toThrow(`${file} cannot be read: line 2 is damaged`);
});

it('a line that a killed process has left half written is no damage', async () => {
  const file = path.join(folder, 'executions.jsonl');
  await writeFile(file, `${JSON.stringify(execution)}\n${JSON.stringify(execution).slice(0, 20)}`);
  expect((await openExecutionLog(folder)).find('arn:one')).toEqual(execution);
});

it('what is kept is written whole, for its owner alone', async () => {
  const stored = await openStoredValues(folder, 'keys');
  await stored.put('one', 'two');
  expect(await readdir(folder)).toEqual(['keys.json']);
  expect((await stat(path.join(folder, 'keys.json'))).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(path.join(folder, 'keys.json'), 'utf8'))).toEqual({ one: 'two' });
});

it('a database that is none is named', async () => {
  const file = path.join(folder, 'dynamodb.sqlite');
  await writeFile(file, 'this is no database, and long enough to be seen as none'.repeat(10));
  expect(() => openExclusively(file)).toThrow(`${file} cannot be read: file is not a database`);
});
