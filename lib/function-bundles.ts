import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { type BuildResult, buildSync, type Metafile } from 'esbuild';

const projectFolder = join(import.meta.dirname, '..');

/** What was made of each function's source file: a folder with its code, as Lambda takes it. */
export interface FunctionBundles extends Disposable {
  folderOf(name: string): string;
  metafile: Metafile;
}

/** Where the sources of functions are, beside each other. */
const folders = ['http', 'web', 'queues', 'workflow', 'schedules', 'tasks'];

/** By function, the code of threads that it starts: each a file beside the function's own. */
const threads: Readonly<Record<string, readonly string[]>> = {
  'prepare-attachment': [
    'functions/adapters/documents/extraction-thread.ts',
    'functions/adapters/images/shrinking-thread.ts',
  ],
};

/**
 * Bundles functions/<folder>/<name>.ts for every name, in one esbuild call: a call each would cost a second each.
 * The code stands in a fresh temporary folder, so synths at the same time do not meet; disposing removes it.
 */
export function bundleFunctions(names: readonly string[]): FunctionBundles {
  const sources = new Map(names.map((name) => [name, sourceOf(name)]));
  const built = build(sources);
  const folder = mkdtempSync(join(tmpdir(), 'function-bundles-'));
  for (const file of built.outputFiles) {
    const target = join(folder, relative(outputFolder, file.path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.contents);
  }
  return {
    folderOf: (name) => join(folder, name),
    metafile: built.metafile,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function sourceOf(name: string): string {
  const candidates = folders.map((folder) => join('functions', folder, `${name}.ts`));
  const source = candidates.find((candidate) => existsSync(join(projectFolder, candidate)));
  if (source === undefined) throw new Error(`No source file for a function: ${candidates.join(' or ')}`);
  return source;
}

/**
 * Where esbuild believes to write. Source maps name their sources relative to it: were it the temporary folder,
 * the code's hash, and with it every deployment, would depend on where the project stands.
 */
const outputFolder = join(projectFolder, 'bundles');

function build(sources: ReadonlyMap<string, string>): BuildResult<{ metafile: true; write: false }> {
  return buildSync({
    absWorkingDir: projectFolder,
    entryPoints: Object.fromEntries(
      [...sources].flatMap(([name, source]) => {
        const beside = (threads[name] ?? []).map((thread) => [`${name}/${basename(thread, '.ts')}`, thread]);
        return [[`${name}/index`, source], ...beside];
      }),
    ),
    outdir: outputFolder,
    outExtension: { '.js': '.mjs' },
    write: false,
    metafile: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    // A part of the AI SDK is CommonJS and requires node:path and node:fs, which an ES module cannot without this.
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
    },
    // `module` first: under `node` the AWS SDK offers CommonJS, which cannot be shaken and needs `require`.
    conditions: ['module', 'import'],
    alias: { '@aws-sdk/credential-provider-node': './functions/runtime/lambda-credentials.ts' },
    // WebAssembly of image codecs stands in the code, as one file on both kinds of processor.
    loader: { '.wasm': 'binary' },
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
}
