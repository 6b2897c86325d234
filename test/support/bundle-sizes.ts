import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Metafile, transform } from 'esbuild';
import {
  type BuiltBundles,
  buildBundles,
  type FunctionBundles,
  sourceOf,
} from '#lib/bundles/function-bundles.ts';

const projectFolder = join(import.meta.dirname, '../..');

/** Packages that count as a function's baseline. Its budget is for all other packages and the project's own code. */
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
  /** Source files of which tree shaking has left something. */
  modules: number;
}

export interface BundleSize {
  name: string;
  /** Files that are loaded before the first invocation. */
  start: Size;
  /** Files that deferred imports load. */
  deferred: Size;
  /** A bundle of only those parts of the baseline packages that the function's own code uses at its start. */
  baseline: Size;
  hasModel: boolean;
}

/** Imported names by package. */
type Imports = Map<string, Set<string>>;

/** The size of every function and of its baseline, both built by the same bundler with the same options. */
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
      deferred: sizeOf(
        metafile,
        all.filter((file) => !start.has(file)),
      ),
      baseline: sizeOf(baselines, filesOfStart(baselines, name)),
      hasModel: [...(used.get(name)?.keys() ?? [])].some((source) => source.startsWith('@ai-sdk/')),
    };
  });
}

const moduleOf = (name: string): string => `bundles/${name}/index.mjs`;

/** The files that a function loads before its first invocation. */
export const filesOfStart = (metafile: Metafile, name: string): Set<string> =>
  filesOf(metafile, [moduleOf(name)], (kind) => kind === 'import-statement');

/** The files that a function loads at its start or by a deferred import. */
export const filesOfFunction = (metafile: Metafile, name: string): Set<string> =>
  filesOf(metafile, [moduleOf(name)], () => true);

/** The bytes that a deferred import of a function's module loads in addition to the function's start. */
export function deferredBytes(metafile: Metafile, name: string, module: string): number {
  const roots = Object.keys(metafile.outputs).filter(
    (file) => file.startsWith(`bundles/${name}/${module}-`) && file.endsWith('.mjs'),
  );
  const start = filesOfStart(metafile, name);
  const loaded = filesOf(metafile, roots, (kind) => kind === 'import-statement');
  return sizeOf(
    metafile,
    [...loaded].filter((file) => !start.has(file)),
  ).bytes;
}

/** The roots and all files that they import, directly or indirectly, by imports that `follow` accepts. */
function filesOf(
  metafile: Metafile,
  roots: readonly string[],
  follow: (kind: string) => boolean,
): Set<string> {
  const found = new Set(roots);
  // The loop also visits files that are added while it runs.
  for (const file of found) {
    const output = metafile.outputs[file];
    if (output === undefined) throw new Error(`There is no ${file}`);
    for (const { path, kind, external } of output.imports) {
      if (!follow(kind) || (external && !path.startsWith('./'))) continue;
      // An external file next to this one has its own bundle.
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

/**
 * What each function's own code imports from the baseline packages at its start. It is read from a tree-shaken bundle
 * to which those packages are external.
 */
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
  // The TypeScript loader removes imported names that nothing uses.
  const { code } = await transform(bundled, { loader: 'ts', tsconfigRaw: '{}' });
  for (const [, clause = '', source = ''] of code.matchAll(/^import ([^"]+) from "([^"]+)";$/gm)) {
    if (!isBaselinePackage(source)) continue;
    const names = imports.get(source) ?? new Set();
    imports.set(source, names);
    for (const name of namesOf(clause, code)) names.add(name);
  }
}

const isBaselinePackage = (source: string): boolean =>
  baselinePackages.some((name) => source === name || source.startsWith(name.replace('*', '')));

/** The names of an import clause: `{ One, Two as Three }`, `whole`, or for `* as z` the members that the code uses. */
function namesOf(clause: string, code: string): string[] {
  const namespace = /^\* as (\w+)$/.exec(clause)?.[1];
  if (namespace !== undefined)
    return [...code.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, 'g'))].map(([, member = '']) => member);
  if (/^\w+$/.test(clause)) return ['default'];
  if (!/^\{[^}]*\}$/.test(clause)) throw new Error(`Cannot read: import ${clause}`);
  return clause
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

/** The source of a function that only refers to its imports, so that they are not tree-shaken. */
function baselineOf(imports: Imports): string {
  const sources = [...imports].toSorted();
  const lines = sources.map(([source], index) => `import * as source${index} from '${source}';`);
  const references = sources.flatMap(([, names], index) =>
    [...names].map((name) => `source${index}.${name}`),
  );
  return [...lines, `export const handler = () => [${references.join(', ')}];`].join('\n');
}
