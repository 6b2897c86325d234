import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const project = resolve(import.meta.dirname, '../..');
/** All that a template is made from, besides the packages that the lock file names. */
const sources = ['bin/app.ts', 'cdk.json', 'functions', 'lib', 'package.json', 'package-lock.json'];

/** What has been synthesized before, by what it was made from: a new data folder takes a copy. */
const cache = join(project, 'node_modules/.cache/agent-service');
/** The last ones used, 40 MB each: those of the settings that one works with. */
const assembliesKept = 4;

/**
 * Synthesizes the app for the local stage, unless just that has been done before.
 * @param settings stage settings that replace those of cdk.json
 * @throws Error with what the app printed when it fails
 */
export async function synthesize(folder: string, settings: Record<string, unknown>): Promise<void> {
  const context = JSON.stringify({ stage: 'local', settings });
  const made = await digest(context);
  const mark = join(folder, 'made-from');
  if ((await readFile(mark, 'utf8').catch(() => '')) === made) return;
  await rm(folder, { recursive: true, force: true });
  const kept = join(cache, made);
  if (existsSync(kept)) {
    await utimes(kept, new Date(), new Date());
    await cp(kept, folder, { recursive: true });
  } else {
    await runApp(resolve(folder), context);
    await keep(folder, kept);
  }
  await writeFile(mark, made);
}

/** Seen by others once it is whole. */
async function keep(folder: string, kept: string): Promise<void> {
  const draft = `${kept}.${process.pid}`;
  await cp(folder, draft, { recursive: true });
  await rename(draft, kept).catch(() => rm(draft, { recursive: true }));
  const names = await readdir(cache);
  const ages = await Promise.all(names.map(async (name) => (await stat(join(cache, name))).mtimeMs));
  const newestFirst = names.toSorted(
    (one, other) => (ages[names.indexOf(other)] ?? 0) - (ages[names.indexOf(one)] ?? 0),
  );
  for (const name of newestFirst.slice(assembliesKept))
    await rm(join(cache, name), { recursive: true, force: true });
}

async function digest(context: string): Promise<string> {
  const hash = createHash('sha256').update(`${process.version}\n${context}\n`);
  for (const source of sources)
    for (const file of await filesOf(source))
      hash.update(`${file}\n`).update(await readFile(join(project, file)));
  return hash.digest('hex');
}

async function filesOf(source: string): Promise<string[]> {
  const entries = await readdir(join(project, source), { recursive: true, withFileTypes: true }).catch(
    () => undefined,
  );
  if (entries === undefined) return [source];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(project.length + 1))
    .sort();
}

async function runApp(folder: string, context: string): Promise<void> {
  const child = spawn(process.execPath, [join(project, 'bin/app.ts')], {
    env: { ...process.env, CDK_OUTDIR: folder, CDK_CONTEXT_JSON: context },
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
