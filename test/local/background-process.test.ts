import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { openRecorder } from './fixture/open-recorder.ts';
import { clientOptions } from './fixture/start-background.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture('Background'));

interface Started {
  readonly endpoints: Record<string, string>;
  readonly physicalIds: Record<string, string>;
}

it('a process with messages, executions and schedules under way ends by itself soon after close', async () => {
  const recorder = await openRecorder();
  const dataDir = await makeDataDir();
  const script = path.join(import.meta.dirname, 'fixture', 'run-until-killed.ts');
  const child = spawn(
    process.execPath,
    [script, await synthesizeFixture('Background'), dataDir, recorder.url],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await recorder.close();
    await rm(dataDir, { recursive: true });
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { endpoints, physicalIds } = JSON.parse(line.toString()) as Started;
  const ref = (pattern: RegExp) => Object.entries(physicalIds).find(([id]) => pattern.test(id))?.[1] ?? '';
  const sqs = new SQSClient(clientOptions(endpoints.sqs ?? ''));
  const sfn = new SFNClient(clientOptions(endpoints.sfn ?? ''));
  recorder.script('Simple', () => new Promise(() => {}));
  for (const machine of [/^Endless$/, /^Asleep$/]) {
    await sfn.send(new StartExecutionCommand({ stateMachineArn: ref(machine) }));
  }
  for (const queue of [/^Plain[0-9A-F]{8}$/, /^Short[0-9A-F]{8}$/]) {
    await sqs.send(new SendMessageCommand({ QueueUrl: ref(queue), MessageBody: 'x' }));
  }
  await vi.waitFor(() => {
    expect(recorder.events('Simple')).not.toEqual([]);
    expect(recorder.events('Asked')).not.toEqual([]);
    expect(recorder.events('Scheduled')).not.toEqual([]);
  }, 60_000);
  child.kill('SIGTERM');
  await vi.waitFor(() => expect(child.exitCode).toBe(0), 60_000);
});
