import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Timer } from '#local/run-options.ts';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly, type TemplateResources } from './fixture/change-assembly.ts';
import { startBackground } from './fixture/start-background.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture('Background'));

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

/** A timer whose time passes only when the test advances it. */
function createManualTimer(): Timer & { pending(): number; advanceTo(seconds: number): void } {
  const pending = new Set<{ readonly due: number; readonly callback: () => void }>();
  let now = 0;
  return {
    after(milliseconds, callback) {
      const entry = { due: now + milliseconds, callback };
      pending.add(entry);
      return () => pending.delete(entry);
    },
    pending: () => pending.size,
    advanceTo(seconds) {
      const next = () => [...pending].sort((one, other) => one.due - other.due)[0];
      for (let entry = next(); entry && entry.due <= seconds * 1000; entry = next()) {
        pending.delete(entry);
        now = entry.due;
        entry.callback();
      }
      now = seconds * 1000;
    },
  };
}

describe('a schedule', () => {
  it('calls at the start, 35 s later and by its rate, with its input; a disabled one never', async () => {
    const timer = createManualTimer();
    const run = await startBackground({ timer, maxConcurrency: 2 });
    const counts = () => [run.events('Scheduled').length, run.events('HourlyCalled').length];
    for (const [seconds, expected] of [
      [0, [1, 1]],
      [34, [1, 1]],
      [35, [2, 2]],
      [59, [2, 2]],
      [60, [3, 2]],
      [120, [4, 2]],
      [3599, [61, 2]],
      [3600, [62, 3]],
    ] as const) {
      timer.advanceTo(seconds);
      await vi.waitFor(() => expect(counts(), `after ${seconds} s`).toEqual(expected), 60_000);
    }
    const ruleArn = expect.stringMatching(/^arn:aws:events:us-east-1:000000000000:rule\/Background-Minutely/);
    expect(run.events('Scheduled')[0]).toEqual({
      version: '0',
      id: expect.any(String),
      'detail-type': 'Scheduled Event',
      source: 'aws.events',
      account: '000000000000',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      region: 'us-east-1',
      resources: [ruleArn],
      detail: {},
    });
    expect(run.events('Scheduled')).not.toContainEqual({ off: true });
    expect(run.events('HourlyCalled')[0]).toEqual({ text: 'as it is' });
    await run.close();
    expect(timer.pending()).toBe(0);
  });

  it('ends the idle thread of a function that it calls less often than every five minutes', async () => {
    const timer = createManualTimer();
    const run = await startBackground({ timer });
    // Both schedules are due at once, and calls of the other one may overlap, in a thread each.
    const others = () => run.workers().filter(({ functionName }) => !functionName.includes('Scheduled'));
    for (const call of [1, 2]) {
      timer.advanceTo(35 * (call - 1));
      await vi.waitFor(() => expect(run.events('HourlyCalled')).toHaveLength(call), 60_000);
      await vi.waitFor(() => expect(others()).toEqual([]), 60_000);
    }
    await run.close();
  });

  it('tells when its function fails, and waits until requests may be answered', async () => {
    const timer = createManualTimer();
    let pendingBefore = -1;
    const run = await startBackground({
      timer,
      beforeServing: async () => {
        pendingBefore = timer.pending();
      },
    });
    expect(pendingBefore).toBe(0);
    run.script('Scheduled', () => ({ throws: { name: 'Broken', message: 'on purpose' } }));
    timer.advanceTo(0);
    await vi.waitFor(() => expect(run.logs).toContain('Broken: on purpose'), 60_000);
    await run.close();
  });
});

describe('a start refuses', () => {
  const rule = (resources: TemplateResources) =>
    Object.entries(resources).find(([id]) => id.startsWith('Minutely'))?.[1].Properties ?? {};
  it.each<[string, object, string]>([
    [
      'times of day',
      { ScheduleExpression: 'cron(0 12 * * ? *)' },
      '"cron(0 12 * * ? *)" is not available locally, only rate(…) is',
    ],
    ['patterns of events', { EventPattern: {} }, 'EventPattern is not available locally'],
    [
      'targets that are no functions',
      { Targets: [{ Id: 't', Arn: 'arn:aws:sqs:us-east-1:000000000000:q' }] },
      'the target arn:aws:sqs:us-east-1:000000000000:q is no function of the template',
    ],
    [
      'inputs that it would not make',
      { Targets: [{ Id: 't', Arn: 'a', InputTransformer: {} }] },
      'InputTransformer of a target is not available locally',
    ],
  ])('%s', async (_, change, message) => {
    const assembly = await changeAssembly('Background', (resources) =>
      Object.assign(rule(resources), change),
    );
    const dataDir = await makeDataDir();
    folders.push(assembly, dataDir);
    await expect(runTemplate({ assembly, dataDir, port: 0 })).rejects.toThrow(
      `(AWS::Events::Rule): ${message}`,
    );
  });
});
