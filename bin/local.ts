#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';

const { startLocally } = await loadVisibly(() => import('./local/start-locally.ts'));

// `npm start` limits the young generation of the main thread with this flag. 0 restores the default for later threads.
setFlagsFromString('--max-semi-space-size=0');

await startLocally(process.argv);

/** On a slow machine, the import takes seconds. */
async function loadVisibly<Module>(load: () => Promise<Module>): Promise<Module> {
  const { isTTY } = process.stdout;
  if (isTTY) process.stdout.write('Loading …');
  try {
    return await load();
  } finally {
    if (isTTY) process.stdout.write('\r\u001b[2K');
  }
}
