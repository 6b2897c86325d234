import { readdir, readFile } from 'node:fs/promises';

/** Linux reports processor time to all programs in ticks of 10 ms, independently of the kernel's own tick. */
const ticksPerSecond = 100;

/** Reads `/proc/<pid>/stat` and `/proc/<pid>/status`. The program's name, in parentheses, may contain any character. */
function readProcessState(pid: number, stat: string, status: string) {
  // Field 3 of proc(5) is the first one after the name.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return {
    pid,
    parent: field(4),
    /** The program's name as the kernel stores it: at most 15 characters. */
    name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
    /** The processor time of all threads of the process, running and ended, in user and kernel mode. */
    processorSeconds: (field(14) + field(15)) / ticksPerSecond,
    residentBytes: kilobytes('VmRSS'),
    /** The largest resident memory that the process ever had. */
    peakBytes: kilobytes('VmHWM'),
    threads: field(20),
  };
}

/** A process and its descendants, itself first. Empty if it has ended. */
export async function processTree(root: number) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  // Empty for a process that has ended in the meantime.
  const read = (pid: number, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
  const stats = new Map(
    await Promise.all(pids.map(async (pid): Promise<[number, string]> => [pid, await read(pid, 'stat')])),
  );
  const parents = new Map([...stats].map(([pid, stat]) => [pid, readProcessState(pid, stat, '').parent]));
  const isInTree = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isInTree(parents.get(pid)));
  const states = await Promise.all(
    pids
      .filter(isInTree)
      .map(async (pid) => readProcessState(pid, stats.get(pid) ?? '', await read(pid, 'status'))),
  );
  return states
    .filter(({ parent }) => !Number.isNaN(parent))
    .sort((one, other) => Number(other.pid === root) - Number(one.pid === root));
}
