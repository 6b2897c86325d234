import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freezeDataFolder } from './freeze-data-folder.ts';
import { freezeItems } from './freeze-items.ts';

const folder = join(import.meta.dirname, '../../fixtures/frozen');

const write = (name: string, content: unknown): Promise<void> =>
  writeFile(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);

/** The last commit that changed what a deployment or a local run is made of. */
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
};

// `npm run freeze` makes all of them anew, `npm run freeze items` one.
const wanted = process.argv.slice(2);
await mkdir(folder, { recursive: true });
for (const [name, freeze] of Object.entries(parts))
  if (wanted.length === 0 || wanted.includes(name)) {
    await freeze();
    console.log(`${name} made by the code of ${commit}`);
  }
process.exit();
