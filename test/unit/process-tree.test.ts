import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { processTree } from '#support/process-tree.ts';

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
