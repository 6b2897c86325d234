import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startOn } from '#support/command.ts';
import { webFunctions } from '#support/entry-points.ts';
import { peakWhile, residentBytes } from '#support/memory.ts';
import { uploaderOf } from '#support/upload.ts';

const megabyte = 1024 * 1024;

/** Resolves when the process tree's memory has not changed for two seconds, so all functions have loaded. */
async function stableMemory(pid: number): Promise<number> {
  let before = 0;
  for (;;) {
    const peak = await peakWhile(pid, () => new Promise((resolve) => setTimeout(resolve, 2000)));
    if (Math.abs(peak - before) < 2 * megabyte) return residentBytes(pid);
    before = peak;
  }
}

it.runIf(process.env.SOAK !== undefined)(
  'holds no more than 40 MB beside what it had, for an upload of 50 MB',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'upload-memory-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    // The command then finds its assembly instead of synthesizing it.
    await cp(inject('assembly'), join(folder, 'assembly'), { recursive: true });
    const { command, connection } = await startOn(folder, ['--set', `webFunctions=${webFunctions}`]);
    onTestFinished(async () => {
      command.child.kill('SIGTERM');
      await command.ended;
    });
    const { pid } = connection;
    const upload = uploaderOf({ baseUrl: connection.base_url }, { apiKey: connection.api_key });
    const sendOne = async () => expect((await upload.large(50 * megabyte)).status).toBe(200);
    await stableMemory(pid);
    await sendOne();
    const idle = await stableMemory(pid);
    expect(idle / megabyte).toBeGreaterThan(50);
    expect(((await peakWhile(pid, sendOne)) - idle) / megabyte).toBeLessThan(40);
  },
);
