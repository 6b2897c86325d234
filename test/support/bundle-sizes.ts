import { dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';
import type { FunctionBundles } from '#lib/bundles/function-bundles.ts';

/**
 * Packages without a budget: those that the functions are built on, and what only those import. A budget is for all
 * other packages and the project's own code.
 */
const baseline =
  /.*node_modules\/(?:@(?:aws|aws-sdk|smithy|middy|aws-lambda-powertools|ai-sdk)\/|(?:zod|mnemonist|obliterator)\/)/;

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
  /** What of the start is not of the baseline. */
  own: Size;
}

export function bundleSizes(bundles: FunctionBundles, names: readonly string[]): BundleSize[] {
  const metafile = bundles.metafile();
  return names.map((name) => {
    const start = filesOfStart(metafile, name);
    const deferred = [...filesOfFunction(metafile, name)].filter((file) => !start.has(file));
    return {
      name,
      start: sizeOf(metafile, start),
      deferred: sizeOf(metafile, deferred),
      own: ownSizeOf(metafile, start),
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
  const list = [...files];
  const bytes = list.reduce((sum, file) => sum + (metafile.outputs[file]?.bytes ?? 0), 0);
  return { bytes, modules: modulesOf(metafile, list).length };
}

function ownSizeOf(metafile: Metafile, files: Iterable<string>): Size {
  const own = modulesOf(metafile, files).filter(({ source }) => !baseline.test(source));
  return { bytes: own.reduce((sum, { bytes }) => sum + bytes, 0), modules: own.length };
}

const modulesOf = (metafile: Metafile, files: Iterable<string>) =>
  [...files]
    .flatMap((file) => Object.entries(metafile.outputs[file]?.inputs ?? {}))
    .map(([source, { bytesInOutput }]) => ({ source, bytes: bytesInOutput }))
    .filter(({ bytes }) => bytes > 0);
