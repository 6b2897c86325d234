import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { processesNaming } from '#support/command.ts';
import type { RunServiceOptions } from '#support/run-service.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture());

/** Starts the service as a test does, and then waits. */
const program = `
const { startKillableService } = await import(process.argv[1]);
await startKillableService(JSON.parse(process.argv[2]));
console.log('started');
`;

it('a service that a test starts ends with the process of the test', async () => {
  const dataDir = await makeDataDir();
  const options: RunServiceOptions = {
    assembly: await synthesizeFixture(),
    dataDir,
    environment: {},
  };
  const killedService = path.resolve(import.meta.dirname, '../support/killed-service.ts');
  const test = spawn(
    process.execPath,
    ['--input-type=module', '--eval', program, killedService, JSON.stringify(options)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(async () => {
    test.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  await once(test.stdout, 'data');
  expect((await processesNaming(dataDir)).length).toBeGreaterThan(1);
  test.kill('SIGKILL');
  await vi.waitFor(async () => expect(await processesNaming(dataDir)).toEqual([]), 60_000);
});
