import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { platformOf, thisPlatform } from '#local/dynamodb/choose-dynamodb.ts';
import { startDynoxide } from '#local/dynamodb/start-dynoxide.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { processesNaming } from '#support/command.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { startFixture } from './fixture/start-fixture.ts';

const folder = await temporaryFolder('platform-');
const mac = platformOf('darwin-arm64');

beforeEach(() => void vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', ''));
afterAll(() => void vi.unstubAllEnvs());

it.each(['darwin-arm64', 'linux-arm64'])(
  '%s has no embedded DynamoDB, and a run says what to start',
  async (name) => {
    const dataDir = path.join(folder, name);
    await expect(startFixture({ platform: platformOf(name), dataDir })).rejects.toThrow(
      `There is no embedded DynamoDB emulator for ${name}. Start DynamoDB Local: docker run --rm -p 127.0.0.1:8000:8000 ` +
        'amazon/dynamodb-local. Then set AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000',
    );
    expect(await readdir(dataDir)).not.toContain('lock');
  },
);

it('names an endpoint where no DynamoDB responds, and one that is no address', async () => {
  const { url, close } = await listenLocally(createServer());
  await close();
  for (const [endpoint, message] of [
    [
      url,
      `No DynamoDB responds at ${url}, which AWS_ENDPOINT_URL_DYNAMODB names (connection refused). Start`,
    ],
    ['localhost:8000', 'AWS_ENDPOINT_URL_DYNAMODB must be an http address, such as'],
  ] as const) {
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
    await expect(startFixture({ dataDir: path.join(folder, 'unreachable') })).rejects.toThrow(message);
  }
});

it('runs on another DynamoDB where there is no embedded one: without a shell, and with no file of its own', async () => {
  const { dynamoDbProgram: program = '' } = thisPlatform;
  const other = await startDynoxide(program, path.join(folder, 'other.sqlite'));
  vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', other.endpoint);
  const run = await startFixture({ platform: mac });
  try {
    expect(await processesNaming(run.dataDir)).toEqual([]);
    expect(await readdir(run.dataDir)).not.toContain('dynamodb.sqlite');
    expect(await readFile(path.join(run.dataDir, 'lock'), 'utf8')).toBe(`${process.pid}\n`);
    const put = await run.fetch('items/one', { method: 'PUT', body: 'text' });
    expect(await put.json()).toMatchObject({ body: 'text' });
  } finally {
    await run.close();
    await other.close();
  }
});
