import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type RunningCommand, startCommand } from '#support/command.ts';
import { webFunctions } from '#support/entry-points.ts';
import { peakWhile, residentBytes } from '#support/memory.ts';
import { uploaderOf } from '#support/upload.ts';

const megabyte = 1024 * 1024;

let folder: string;
let command: RunningCommand;
let pid: number;
let upload: ReturnType<typeof uploaderOf>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upload-memory-'));
  // The command then finds its assembly instead of synthesizing it.
  await cp(inject('assembly'), join(folder, 'assembly'), { recursive: true });
  command = startCommand(['--port', '0', '--data', folder, '--set', `webFunctions=${webFunctions}`]);
  await command.printed('Ctrl-C ends it.');
  const connection = JSON.parse(await readFile(join(folder, 'connection.json'), 'utf8')) as {
    base_url: string;
    api_key: string;
    pid: number;
  };
  pid = connection.pid;
  upload = uploaderOf({ baseUrl: connection.base_url }, { apiKey: connection.api_key });
  await stableMemory();
});
afterAll(async () => {
  command.child.kill('SIGTERM');
  await command.ended;
  await rm(folder, { recursive: true, force: true });
});

/** Resolves when the process tree's memory has not changed for two seconds, so all functions have loaded. */
async function stableMemory(): Promise<number> {
  let before = 0;
  for (;;) {
    const peak = await peakWhile(pid, () => new Promise((resolve) => setTimeout(resolve, 2000)));
    if (Math.abs(peak - before) < 2 * megabyte) return residentBytes(pid);
    before = peak;
  }
}

const sendOne = async () => expect((await upload.large(50 * megabyte)).status).toBe(200);

it.runIf(process.env.SOAK !== undefined)(
  'holds no more than 40 MB beside what it had, for an upload of 50 MB',
  async () => {
    await sendOne();
    const idle = await stableMemory();
    expect(((await peakWhile(pid, sendOne)) - idle) / megabyte).toBeLessThan(40);
  },
);

// Uploading 500 MB takes a third of a minute.
it.runIf(process.env.SOAK !== undefined)(
  'holds less than 300 MB beside what it had, for ten of them at once',
  async () => {
    const idle = await stableMemory();
    const peak = await peakWhile(pid, () => Promise.all(Array.from({ length: 10 }, sendOne)));
    expect((peak - idle) / megabyte).toBeLessThan(300);
  },
  120_000,
);
