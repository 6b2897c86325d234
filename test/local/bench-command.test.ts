import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { figureNames } from '../bench/figures.ts';
import { report } from '../bench/report.ts';

vi.setConfig({ testTimeout: 120_000 });

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
it('measures the bare server, writes what it saw, leaves nothing behind, and draws it', async () => {
  const file = join(folder, 'report.json');
  const measured = await bench('--quick', '--subjects', 'bare', '--out', file);
  expect(measured.stderr).toContain('run 1, bare: batch, ');
  expect(measured.code, measured.stderr).toBe(0);
  expect(await readdir(temporary)).toEqual([]);

  const { runs } = report.parse(JSON.parse(await readFile(file, 'utf8')));
  expect(runs).toHaveLength(1);
  const figures = runs[0]?.figures ?? {};
  const own = figureNames.filter((name) => name !== 'synthesis');
  expect(Object.keys(figures).toSorted()).toEqual(own.toSorted());
  expect(figures).toMatchObject({ batchComplete: 20, parallelModelCalls: 1, emulatorMemory: 0 });
  expect(runs[0]?.batchSeconds).toHaveLength(20);
  // For each reply, the paced model takes 100 ms and 19 times 10 ms.
  expect(figures.pacedRate).toBeLessThan(16 / 0.29);
  const tableLines = measured.stdout.split('\n').filter((line) => line.startsWith('| '));
  expect(tableLines).toHaveLength(own.length + 2);

  const drawn = await bench('--draw', file, '--into', folder);
  expect(drawn.stdout.trim().split('\n')).toEqual([
    join(folder, 'latency.svg'),
    join(folder, 'batch-throughput.svg'),
  ]);
  expect(await readFile(join(folder, 'latency.svg'), 'utf8')).toMatch(/^<svg /);
});

it('says what it does not know', async () => {
  const { code, stderr } = await bench('--only', 'single,latency');
  expect(code).toBe(1);
  expect(stderr).toContain('latency is not one of functions,start,single,');
});
