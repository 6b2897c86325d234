import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Metafile, transform } from 'esbuild';
import { type BuiltBundles, buildBundles, type FunctionBundles, sourceOf } from '#lib/function-bundles.ts';

const projectFolder = join(import.meta.dirname, '../..');

/** Packages that functions are made for or with. All others, and the own code, are what a budget is for. */
const baselinePackages = [
  '@aws-sdk/*',
  '@smithy/*',
  '@middy/*',
  '@aws-lambda-powertools/*',
  '@ai-sdk/*',
  'zod',
];

export interface Size {
  bytes: number;
  /** Source files of which something is left. */
  modules: number;
}

export interface BundleSize {
  name: string;
  /** What is loaded before the first call. */
  start: Size;
  /** What is only loaded when it is asked for. */
  later: Size;
  /** Of a bundle of just what the function's own code uses of those packages when it starts. */
  baseline: Size;
  hasModel: boolean;
}

/** Names by package. */
type Imports = Map<string, Set<string>>;

/** Every function beside its baseline, which the same bundler makes with the same options. */
export async function bundleSizes(bundles: FunctionBundles, names: readonly string[]): Promise<BundleSize[]> {
  const metafile = bundles.metafile();
  const used = await usedPackages(names);
  const baselines = (await buildBaselines(used)).metafile;
  return names.map((name) => {
    const start = filesOfStart(metafile, name);
    const all = [...filesOfFunction(metafile, name)];
    return {
      name,
      start: sizeOf(metafile, start),
      later: sizeOf(
        metafile,
        all.filter((file) => !start.has(file)),
      ),
      baseline: sizeOf(baselines, filesOfStart(baselines, name)),
      hasModel: [...(used.get(name)?.keys() ?? [])].some((source) => source.startsWith('@ai-sdk/')),
    };
  });
}

const moduleOf = (name: string): string => `bundles/${name}/index.mjs`;

/** What a function loads before its first call. */
export const filesOfStart = (metafile: Metafile, name: string): Set<string> =>
  filesOf(metafile, [moduleOf(name)], (kind) => kind === 'import-statement');

/** And what it loads when a call needs it. */
export const filesOfFunction = (metafile: Metafile, name: string): Set<string> =>
  filesOf(metafile, [moduleOf(name)], () => true);

/** Files and those that they import, in turn. */
function filesOf(
  metafile: Metafile,
  roots: readonly string[],
  follow: (kind: string) => boolean,
): Set<string> {
  const found = new Set(roots);
  // What is added on the way is met as well.
  for (const file of found) {
    const output = metafile.outputs[file];
    if (output === undefined) throw new Error(`There is no ${file}`);
    for (const { path, kind, external } of output.imports) {
      if (!follow(kind) || (external && !path.startsWith('./'))) continue;
      // What stands beside is bundled for itself.
      found.add(external ? join(dirname(file), path) : path);
    }
  }
  return found;
}

function sizeOf(metafile: Metafile, files: Iterable<string>): Size {
  const outputs = [...files].flatMap((file) => metafile.outputs[file] ?? []);
  return {
    bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0),
    modules: outputs
      .flatMap(({ inputs }) => Object.values(inputs))
      .filter(({ bytesInOutput }) => bytesInOutput > 0).length,
  };
}

/** By function, what its own code uses when it starts: its bundle without those packages tells, after tree shaking. */
async function usedPackages(names: readonly string[]): Promise<Map<string, Imports>> {
  const { outputFiles, metafile } = await buildBundles(
    Object.fromEntries(names.map((name) => [`${name}/index`, sourceOf(name)])),
    { external: baselinePackages, minify: false, sourcemap: false },
  );
  const textOf = (file: string): string =>
    outputFiles.find(({ path }) => path === join(projectFolder, file))?.text ?? '';
  const used = new Map<string, Imports>();
  for (const name of names) {
    const imports: Imports = new Map();
    for (const file of filesOfStart(metafile, name)) await collectImports(textOf(file), imports);
    used.set(name, imports);
  }
  return used;
}

async function collectImports(bundled: string, imports: Imports): Promise<void> {
  // In TypeScript an imported name that nothing uses is gone.
  const { code } = await transform(bundled, { loader: 'ts', tsconfigRaw: '{}' });
  for (const [, what = '', source = ''] of code.matchAll(/^import ([^"]+) from "([^"]+)";$/gm)) {
    if (!isBaselinePackage(source)) continue;
    const names = imports.get(source) ?? new Set();
    imports.set(source, names);
    for (const name of namesOf(what, code)) names.add(name);
  }
}

const isBaselinePackage = (source: string): boolean =>
  baselinePackages.some((name) => source === name || source.startsWith(name.replace('*', '')));

/** `{ One, Two as Three }`, `whole`; of `* as z` those that the code names. */
function namesOf(what: string, code: string): string[] {
  const namespace = /^\* as (\w+)$/.exec(what)?.[1];
  if (namespace !== undefined)
    return [...code.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, 'g'))].map(([, member = '']) => member);
  if (/^\w+$/.test(what)) return ['default'];
  if (!/^\{[^}]*\}$/.test(what)) throw new Error(`Cannot read: import ${what}`);
  return what
    .slice(1, -1)
    .split(',')
    .map((name) => name.trim().replace(/ as .*/, ''))
    .filter((name) => name !== '');
}

async function buildBaselines(used: ReadonlyMap<string, Imports>): Promise<BuiltBundles> {
  const folder = await mkdtemp(join(tmpdir(), 'baselines-'));
  try {
    const entries: [string, string][] = [];
    for (const [name, imports] of used) {
      const file = join(folder, `${name}.js`);
      await writeFile(file, baselineOf(imports));
      entries.push([`${name}/index`, file]);
    }
    return await buildBundles(Object.fromEntries(entries), {
      nodePaths: [join(projectFolder, 'node_modules')],
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A function that does nothing but hold what it imports. */
function baselineOf(imports: Imports): string {
  const sources = [...imports].toSorted();
  const lines = sources.map(([source], index) => `import * as source${index} from '${source}';`);
  const buffered = sources.flatMap(([, names], index) => [...names].map((name) => `source${index}.${name}`));
  return [...lines, `export const handler = () => [${buffered.join(', ')}];`].join('\n');
}
