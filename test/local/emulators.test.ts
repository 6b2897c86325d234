import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  GetSecretValueCommand,
  ListSecretVersionIdsCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOptions } from './fixture/start-background.ts';
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
    expect(drawn).toMatch(/^[\w-]{40}$/);
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

  it('finds both labelled versions of a secret that was replaced', async () => {
    const [, SecretId] = Object.entries(run.physicalIds).find(([id]) => id.startsWith('Drawn')) ?? [];
    const open = () => new SecretsManagerClient(clientOptions(run.endpoints.secretsmanager));
    const valueAt = async (VersionStage?: string) =>
      (await open().send(new GetSecretValueCommand({ SecretId, VersionStage }))).SecretString;
    const first = await valueAt();
    await expect(valueAt('AWSPREVIOUS')).rejects.toThrow(ResourceNotFoundException);
    for (const SecretString of ['second', 'third'])
      await open().send(new PutSecretValueCommand({ SecretId, SecretString }));
    const labelled = async () => {
      const { Versions = [] } = await open().send(new ListSecretVersionIdsCommand({ SecretId }));
      return Versions.map(({ VersionId, VersionStages, CreatedDate }) => [
        VersionStages,
        VersionId,
        CreatedDate,
      ]);
    };
    const before = await labelled();
    expect(before.map(([stages]) => stages)).toEqual([['AWSCURRENT'], ['AWSPREVIOUS']]);
    expect(new Set(before.map(([, id]) => id)).size).toBe(2);
    await run.close();
    run = await start();
    expect(await labelled()).toEqual(before);
    expect([await valueAt(), await valueAt('AWSPREVIOUS')]).toEqual(['third', 'second']);
    // The functions read what is current.
    expect(await json('secret')).toMatchObject({ drawn: 'third' });
    expect(first).not.toBe('third');
  });

  it('keeps drawn secrets where only the owner reads them', async () => {
    expect((await stat(path.join(dataDir, 'secrets.json'))).mode & 0o777).toBe(0o600);
  });
});
