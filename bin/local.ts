#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';

const { startLocally } = await loadVisibly(() => import('./local/start-locally.ts'));

// `npm start` limits the young generation of the main thread, to save memory. V8 applies this flag to all threads, and
// the other threads have limits of their own, so the flag is reset before they start.
setFlagsFromString('--max-semi-space-size=0');

await startLocally(process.argv);

/** Imports a module, which takes seconds on a slow machine. On a terminal, a text says so during this time. */
async function loadVisibly<Module>(load: () => Promise<Module>): Promise<Module> {
  const { isTTY } = process.stdout;
  if (isTTY) process.stdout.write('Loading …');
  try {
    return await load();
  } finally {
    if (isTTY) process.stdout.write('\r\u001b[2K');
  }
}
