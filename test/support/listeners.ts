import { readdir, readFile, readlink } from 'node:fs/promises';
import { processTree } from './process-tree.ts';

/** The state LISTEN in `/proc/net/tcp`. */
const listening = '0A';

export interface Listener {
  /** An IPv4 address. */
  readonly host: string;
  readonly port: number;
}

/** Where a process and its descendants listen for TCP connections over IPv4. It works on Linux only. */
export async function listenersOf(root: number): Promise<Listener[]> {
  const pids = (await processTree(root)).map(({ pid }) => pid);
  const open = new Set((await Promise.all(pids.map(openFiles))).flat());
  const lines = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, local = '', , state, , , , , , inode] = fields;
    const [host = '', port = ''] = local.split(':');
    return state === listening && open.has(`socket:[${inode}]`)
      ? [{ host: [...Buffer.from(host, 'hex')].toReversed().join('.'), port: Number.parseInt(port, 16) }]
      : [];
  });
}

async function openFiles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
}
