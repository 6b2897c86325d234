import { readdir, readFile, readlink } from 'node:fs/promises';
import { processTree } from './process-tree.ts';

/** The state LISTEN in `/proc/net/tcp`. */
const listening = '0A';

/** The ports on which a process and its descendants listen for TCP connections over IPv4. It works on Linux only. */
export async function listeningPorts(root: number): Promise<number[]> {
  const pids = (await processTree(root)).map(({ pid }) => pid);
  const open = new Set((await Promise.all(pids.map(openFiles))).flat());
  const lines = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, local = '', , state, , , , , , inode] = fields;
    return state === listening && open.has(`socket:[${inode}]`)
      ? [Number.parseInt(local.split(':')[1] ?? '', 16)]
      : [];
  });
}

async function openFiles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
}
