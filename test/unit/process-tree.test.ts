import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { processTree, readProcessState } from '#support/process-tree.ts';

it('reads what the kernel tells of a process, whatever its name is', () => {
  const stat =
    '4242 (a) R 1 (b) S 17 4242 17 0 -1 4194304 100 0 0 0 250 50 7 8 20 0 13 0 999 1000000 2500 18446744073709551615';
  const status = 'Name:\ta) R 1 (b\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t13\n';
  expect(readProcessState(4242, stat, status)).toEqual({
    pid: 4242,
    parent: 17,
    name: 'a) R 1 (b',
    processorSeconds: 3,
    residentBytes: 1024 * 1024,
    peakBytes: 2 * 1024 * 1024,
    threads: 13,
  });
});

it('finds a process and what it has started, itself first', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  try {
    const tree = await processTree(process.pid);
    expect(tree[0]).toMatchObject({ pid: process.pid, parent: process.ppid });
    expect(tree.find(({ pid }) => pid === child.pid)?.parent).toBe(process.pid);
    expect(tree[0]?.residentBytes).toBeGreaterThan(20 * 1024 * 1024);
  } finally {
    child.stdin?.end();
    await once(child, 'exit');
  }
  expect(await processTree(child.pid ?? 0)).toEqual([]);
});
