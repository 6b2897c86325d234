import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { temporaryFolder } from '#support/close-after-tests.ts';
import type { RunReport } from '../bench/report-table.ts';

const command = resolve(import.meta.dirname, '../bench/bench.ts');

const folder = await temporaryFolder('bench-command-');
const temporary = await mkdtemp(join(folder, 'temporary-'));

/** Runs `npm run bench -- …` with its own folder for temporary files. */
async function bench(...words: string[]) {
  const child = spawn(process.execPath, [command, ...words], { env: { ...process.env, TMPDIR: temporary } });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await new Promise((ended) => child.once('close', ended));
  return { code: child.exitCode, stdout, stderr };
}

// The service takes too long to start for this test. The bare server has the same part of the interface.
it('measures the bare server, writes what it saw, and leaves nothing behind', async () => {
  const file = join(folder, 'report.json');
  const measured = await bench('--quick', '--subjects', 'bare', '--out', file);
  expect(measured.stderr).toContain('run 1, bare: batch, ');
  expect(measured.code, measured.stderr).toBe(0);
  expect(await readdir(temporary)).toEqual([]);

  const { runs } = JSON.parse(await readFile(file, 'utf8')) as { runs: RunReport[] };
  expect(runs).toHaveLength(1);
  const figures = runs[0]?.figures ?? {};
  expect(figures).toMatchObject({
    'start to the first response, data folder kept, s': expect.any(Number),
    'one at a time: first byte, ms': expect.any(Number),
    '16 at once: first delta, 95th percentile, ms': expect.any(Number),
    '16 at once: model calls a reply': 1,
    '16 at once, plain: processor time a reply, ms': expect.any(Number),
    'batch: correct results': 20,
    'upload of 50 MB, ms': expect.any(Number),
    '50 messages at offset 1000000, ms': expect.any(Number),
    'resident after the run: emulator processes, MB': 0,
  });
  // For each reply, the paced model takes 100 ms and 19 times 10 ms.
  expect(figures['16 at once, paced model: replies a second']).toBeLessThan(16 / 0.29);
  const tableLines = measured.stdout.split('\n').filter((line) => line.startsWith('| '));
  expect(tableLines).toHaveLength(Object.keys(figures).length + 2);
});

it('says what it does not know', async () => {
  const { code, stderr } = await bench('--only', 'single,latency');
  expect(code).toBe(1);
  expect(stderr).toContain('latency is not one of functions,start,single,');
});
