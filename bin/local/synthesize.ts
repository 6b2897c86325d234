import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bugReport } from '../failures.ts';
import { closeTree } from './data-folder.ts';

const project = resolve(import.meta.dirname, '../..');
/** The files of the project that an assembly is made from. The lock file stands for the packages. */
const sources = [
  'bin/app.ts',
  'cdk.json',
  'functions',
  'lib',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];
/** In `lib`, but not a source of the template. */
const clientLibrary = join('lib', 'client', '/');

/**
 * Does nothing if the folder has an assembly of the same sources, settings and version of Node.js.
 * @returns whether the app was synthesized
 * @throws Error, for example with a line for each wrong setting
 */
export async function synthesize(
  folder: string,
  settings: Record<string, unknown>,
  onStart: () => void = () => undefined,
): Promise<boolean> {
  const context = JSON.stringify({ stage: 'local', settings, unchecked: true });
  const sourcesDigest = await digest(context);
  if ((await readFile(join(folder, 'made-from'), 'utf8').catch(() => '')) === sourcesDigest) return false;
  onStart();
  await removeDrafts(folder);
  // A new draft folder: the app of a killed process may still be writing to the old one.
  const draft = await mkdtemp(resolve(`${folder}.draft-`));
  try {
    await runApp(draft, context);
    await writeFile(join(draft, 'made-from'), sourcesDigest);
    // The CDK copies assets with the file modes of their sources, which others may be able to read.
    await closeTree(draft);
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  return true;
}

async function removeDrafts(folder: string): Promise<void> {
  const parent = dirname(resolve(folder));
  await mkdir(parent, { recursive: true });
  const drafts = (await readdir(parent)).filter((name) => name.startsWith(`${basename(folder)}.draft-`));
  await Promise.all(drafts.map((name) => rm(join(parent, name), { recursive: true, force: true })));
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
    .filter((file) => !file.startsWith(clientLibrary))
    .sort();
}

async function runApp(folder: string, context: string): Promise<void> {
  // Without a Region: outside us-east-1 the app may add a stack, and a local run takes only one.
  const variables = { CDK_OUTDIR: folder, CDK_CONTEXT_JSON: context, CDK_DEFAULT_REGION: undefined };
  const options = { env: { ...process.env, ...variables }, maxBuffer: Number.POSITIVE_INFINITY };
  const errors = await promisify(execFile)(process.execPath, [join(project, 'bin/app.ts')], options).then(
    () => undefined,
    ({ stderr }: { stderr: string }) => stderr,
  );
  if (errors === undefined) return;
  const problems = errors.split('\n').filter((line) => line.startsWith('Settings: '));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const [, damaged] = /^SyntaxError: (.*cdk\.json: .+)$/m.exec(errors) ?? [];
  if (damaged !== undefined) throw new Error(damaged);
  throw new Error(`The stack could not be synthesized:\n${errors.trim()}\n${bugReport}`);
}
