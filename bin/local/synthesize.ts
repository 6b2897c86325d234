import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';

const app = resolve(import.meta.dirname, '../app.ts');

/**
 * Synthesizes the app for the local stage.
 * @param settings stage settings that replace those of cdk.json
 * @throws Error with what the app printed when it fails
 */
export async function synthesize(folder: string, settings: Record<string, unknown>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const context = { stage: 'local', settings };
  const child = spawn(process.execPath, [app], {
    env: { ...process.env, CDK_OUTDIR: resolve(folder), CDK_CONTEXT_JSON: JSON.stringify(context) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const { promise, resolve: exited, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject);
  child.once('close', exited);
  if ((await promise) !== 0) throw new Error(`The stack could not be synthesized:\n${errors.trim()}`);
}
