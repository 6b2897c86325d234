import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificate } from '../certificate.ts';
import { freezeDataFolder } from './freeze-data-folder.ts';
import { freezeItems } from './freeze-items.ts';
import { freezeMessages } from './freeze-messages.ts';

const folder = join(import.meta.dirname, '../../fixtures/frozen');

const write = (name: string, content: unknown): Promise<void> =>
  writeFile(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);

/** The last commit that changed the sources of a deployment or a local run. */
const commit = execFileSync(
  'git',
  ['log', '-1', '--format=%h', '--', 'bin', 'functions', 'lib', 'local', 'package-lock.json'],
  { encoding: 'utf8' },
).trim();

const parts: Record<string, () => Promise<void>> = {
  items: () => freezeItems(join(folder, 'items.jsonl')),
  'data-folder': async () => {
    const content = await freezeDataFolder(join(folder, 'data-folder'));
    await write('data-folder.json', { commit, ...content });
  },
  messages: async () => write('messages.json', await freezeMessages(commit)),
};

// Node.js reads NODE_EXTRA_CA_CERTS only at its start. This script restarts itself, so that it trusts the webhook
// receiver.
const trusted = await readFile(process.env.NODE_EXTRA_CA_CERTS ?? '', 'utf8').catch(() => '');
if (trusted !== certificate.cert) {
  const authorities = await mkdtemp(join(tmpdir(), 'frozen-authority-'));
  const NODE_EXTRA_CA_CERTS = join(authorities, 'authority.pem');
  await writeFile(NODE_EXTRA_CA_CERTS, certificate.cert);
  const env = { ...process.env, NODE_EXTRA_CA_CERTS };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: 'inherit' });
  await rm(authorities, { recursive: true });
  process.exit(status ?? 1);
}

// `npm run freeze` makes all parts anew, `npm run freeze items` one.
const [wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
if (wanted !== undefined) {
  const freeze = parts[wanted];
  if (freeze === undefined)
    throw new Error(`no such part: ${wanted}; there are ${Object.keys(parts).join(', ')}`);
  await freeze();
  console.log(`${wanted} made by the code of ${commit}`);
  process.exit();
}
// Each part runs in its own process, because the AWS clients of a process always use its first service.
for (const name of Object.keys(parts)) {
  const { status } = spawnSync(process.execPath, [import.meta.filename, name], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
