import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FixtureRun, makeDataDir, startFixture } from './fixture/start-fixture.ts';

let dataDir: string;
let run: FixtureRun;

async function start(): Promise<FixtureRun> {
  const options = { dataDir, secretValues: { [await givenSecretId()]: 'the given value' } };
  return await startFixture(options);
}

/** The logical id ends in a hash, so it is read from the template. */
async function givenSecretId(): Promise<string> {
  const { synthesizeFixture } = await import('./fixture/synthesize-fixture.ts');
  const template = await readFile(path.join(await synthesizeFixture(), 'Fixture.template.json'), 'utf8');
  const { Resources } = JSON.parse(template) as { Resources: Record<string, { Type: string }> };
  const ids = Object.entries(Resources).filter(([, { Type }]) => Type === 'AWS::SecretsManager::Secret');
  return ids.map(([id]) => id).find((id) => id.startsWith('Given')) ?? '';
}

beforeAll(async () => {
  dataDir = await makeDataDir();
  run = await start();
});
afterAll(async () => {
  await run.close();
  await rm(dataDir, { recursive: true, force: true });
});

const json = async (path: string, init?: RequestInit) => {
  const response = await run.fetch(path, init);
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
};

describe('a function with SDK clients that have no options', () => {
  it('writes and reads a table and its index', async () => {
    const response = await json('items/one', { method: 'PUT', body: 'first' });
    expect(response).toEqual({ body: 'first', grouped: 1, hasConsumed: false });
  });

  it('writes and reads a bucket', async () => {
    const response = await json('objects/one.txt', { method: 'PUT', body: 'text ü' });
    expect(response).toEqual({ body: 'text ü', type: 'text/plain' });
  });

  it('reads a secret by ARN and by name, given or drawn', async () => {
    const { given, drawn } = await json('secret');
    expect(given).toBe('the given value');
    expect(JSON.parse(String(drawn))).toEqual({ user: 'me', password: expect.stringMatching(/^[\w-]{32}$/) });
  });
});

describe('a restart', () => {
  it('finds items, objects and secrets again', async () => {
    await json('items/kept', { method: 'PUT', body: 'item' });
    await json('objects/kept', { method: 'PUT', body: 'object' });
    const before = await json('secret');
    const names = run.physicalIds;
    await run.close();
    run = await start();
    expect(run.physicalIds).toEqual(names);
    expect(await json('items/kept')).toMatchObject({ body: 'item' });
    expect(await json('objects/kept')).toMatchObject({ body: 'object' });
    expect(await json('secret')).toEqual(before);
  });

  it('keeps drawn secrets where only the owner reads them', async () => {
    expect((await stat(path.join(dataDir, 'secrets.json'))).mode & 0o777).toBe(0o600);
  });
});
