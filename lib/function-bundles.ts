import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { type BuildOptions, type BuildResult, build, type Metafile, type Plugin } from 'esbuild';

const projectFolder = join(import.meta.dirname, '..');

/** What was made of each function's source file: a folder with its code, as Lambda takes it. */
export interface FunctionBundles {
  folderOf(name: string): string;
  metafile(): Metafile;
}

/** Where the sources of functions are, beside each other. */
const folders = ['http', 'web', 'queues', 'workflow', 'schedules', 'tasks'];

const objectStores = 'functions/runtime/composition/object-stores.ts';
const webhookClients = 'functions/runtime/composition/webhook-clients.ts';
const ofAgents = [
  objectStores,
  'functions/runtime/composition/bedrock-agent-client.ts',
  'functions/agents/models/amazon-bedrock.ts',
];

/**
 * By function, files beside its own that share nothing with it: of threads that it starts, and clients that it imports
 * when a call first needs them.
 */
const entryPoints: Readonly<Record<string, readonly string[]>> = {
  'create-batch': [webhookClients],
  'list-batch-results': [objectStores],
  'list-messages': [objectStores],
  'process-batch-items': ofAgents,
  'send-message': ofAgents,
  'prepare-attachment': [
    'functions/adapters/documents/extraction-thread.ts',
    'functions/adapters/images/shrinking-thread.ts',
  ],
};

/** Functions that import some of their code later and share modules with it, which stand beside both. */
const inParts: readonly string[] = ['send-message', 'process-batch-items'];

/** That code. Unknown to the other functions: what a module shares with one that may come later is not shaken. */
const deferredImports = ['./functions/runtime/composition/tool-adapters.ts'];

/** Bundles that were made before, by all that they are made from: every synth, of whatever stage, has the same. */
const cache = join(projectFolder, 'node_modules/.cache/function-bundles');
const cachedBundles = 4;

/** All that bundles are made from, besides the packages that the lock file names. */
const madeFrom = [
  'functions',
  'lib/function-bundles.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

/** Bundles functions/<folder>/<name>.ts for every name. */
export async function bundleFunctions(names: readonly string[]): Promise<FunctionBundles> {
  const sources = new Map(names.map((name) => [name, sourceOf(name)]));
  for (const path of deferredImports)
    if (!existsSync(join(projectFolder, path))) throw new Error(`No source file to import later: ${path}`);
  const folder = join(cache, digest(names));
  if (!existsSync(folder)) {
    const built = await buildBundles(entryPointsOf(sources));
    rejectMissing(built.metafile);
    writeBundles(built, folder);
  }
  utimesSync(folder, new Date(), new Date());
  removeOld();
  return {
    folderOf: (name) => join(folder, name),
    metafile: () => JSON.parse(readFileSync(join(folder, 'metafile.json'), 'utf8')) as Metafile,
  };
}

function digest(names: readonly string[]): string {
  const hash = createHash('sha256').update(names.join());
  for (const source of madeFrom)
    for (const file of filesOf(source))
      hash.update(`${file}\n`).update(readFileSync(join(projectFolder, file)));
  return hash.digest('hex');
}

function filesOf(source: string): string[] {
  const path = join(projectFolder, source);
  if (!statSync(path).isDirectory()) return [source];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(projectFolder, join(entry.parentPath, entry.name)))
    .sort();
}

/** What a function would look for in vain, with the first call that needs it. */
function rejectMissing({ outputs }: Metafile): void {
  for (const [output, { imports }] of Object.entries(outputs))
    for (const { path, external } of imports)
      if (external && path.startsWith('./') && !(join(dirname(output), path) in outputs))
        throw new Error(`${output} imports ${path}, which does not stand beside it: see \`besides\``);
}

/** Others that make the same see it once it is whole. */
function writeBundles({ outputFiles, metafile }: BuiltBundles, folder: string): void {
  const draft = `${folder}.${process.pid}`;
  for (const file of outputFiles) {
    const target = join(draft, relative(outputFolder, file.path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.contents);
  }
  writeFileSync(join(draft, 'metafile.json'), JSON.stringify(metafile));
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

/** Those that were used last are kept. A synth copies what it needs at once. */
function removeOld(): void {
  const lastUse = (name: string) => statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const uses = readdirSync(cache).map((name) => ({ name, at: lastUse(name) }));
  for (const { name } of uses.toSorted((one, other) => other.at - one.at).slice(cachedBundles))
    rmSync(join(cache, name), { recursive: true, force: true });
}

/** The path of a function's source in the project. */
export function sourceOf(name: string): string {
  const candidates = folders.map((folder) => join('functions', folder, `${name}.ts`));
  const source = candidates.find((candidate) => existsSync(join(projectFolder, candidate)));
  if (source === undefined) throw new Error(`No source file for a function: ${candidates.join(' or ')}`);
  return source;
}

/**
 * Where esbuild believes to write. Source maps name their sources relative to it: were it the cache,
 * the code's hash, and with it every deployment, would depend on where the project stands.
 */
const outputFolder = join(projectFolder, 'bundles');

/** What esbuild made: `bundles/<name>/index.mjs` for each function, and the files that stand beside it. */
export type BuiltBundles = Pick<BuildResult<{ metafile: true; write: false }>, 'outputFiles' | 'metafile'>;

/**
 * In one esbuild call, since a call each would cost a second each; only a function in parts has one of its own, which
 * would else share files with others.
 * @param entryPoints source files by output, `<name>/<module>` without extension
 * @param changes for measurements
 */
export async function buildBundles(
  entryPoints: Readonly<Record<string, string>>,
  changes: Pick<BuildOptions, 'external' | 'minify' | 'sourcemap' | 'nodePaths'> = {},
): Promise<BuiltBundles> {
  const groups = Map.groupBy(Object.entries(entryPoints), ([output]) =>
    inParts.find((name) => output === `${name}/index`),
  );
  const built = await Promise.all(
    [...groups].map(([parted, entries]) =>
      build({
        ...options,
        ...changes,
        entryPoints: Object.fromEntries(entries),
        ...(parted === undefined
          ? { external: [...(changes.external ?? []), ...deferredImports] }
          : { splitting: true, chunkNames: `${parted}/[name]-[hash]` }),
      }),
    ),
  );
  return {
    outputFiles: built.flatMap(({ outputFiles }) => outputFiles),
    metafile: {
      inputs: Object.assign({}, ...built.map(({ metafile }) => metafile.inputs)) as Metafile['inputs'],
      outputs: Object.assign({}, ...built.map(({ metafile }) => metafile.outputs)) as Metafile['outputs'],
    },
  };
}

function entryPointsOf(sources: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...sources].flatMap(([name, source]) => [
      [`${name}/index`, source],
      ...(entryPoints[name] ?? []).map((source) => [`${name}/${basename(source, '.ts')}`, source]),
    ]),
  );
}

/**
 * Packages of the AI SDK import zod as one object, with all that it can and its messages in fifty languages: 350 KB. Of a
 * namespace, which is the same object, only what is used stays.
 */
const treeShakenZod: Plugin = {
  name: 'shaken-zod',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]@ai-sdk[\\/].*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        /^import \{ z(?: as (\w+))? \} from "zod\/v4";$/gm,
        (_whole, name = 'z') => `import * as ${name} from "zod/v4";`,
      ),
    })),
};

/**
 * Schemas of the AWS SDK have members whose names are constants, which esbuild takes for something that may do anything, and
 * so shakes none of S3's: 50 KB. With the constants' texts in their places only those of the commands in use stay.
 */
const treeShakenSchemas: Plugin = {
  name: 'shaken-schemas',
  setup: ({ onLoad }) =>
    onLoad(
      { filter: /[\\/]@aws-sdk[\\/]client-[^\\/]+[\\/]dist-es[\\/]schemas[\\/][^\\/]+\.js$/ },
      async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const texts = new Map(
          [...source.matchAll(/^const (_\w+) = (".*");$/gm)].map(([, name, text]) => [name, text]),
        );
        return {
          contents: source.replace(
            /\[(_\w+)\]: /g,
            (whole, name) => `${texts.get(name) ?? whole.slice(0, -2)}: `,
          ),
        };
      },
    ),
};

/**
 * Packages of the AI SDK pin each other's versions, so npm gives each a copy of its own: of two that are the same, 45 KB,
 * the one is taken that stands with the package for Bedrock.
 */
const oneCopy: Plugin = {
  name: 'one-copy',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^@ai-sdk\/provider(-utils)?$/ }, async ({ path, importer, kind, ...request }) => {
      if (request.pluginData === oneCopy || !importer.includes('/@ai-sdk/anthropic/')) return undefined;
      const bedrock = join(projectFolder, 'node_modules/@ai-sdk/amazon-bedrock');
      const from = (resolveDir: string) => resolve(path, { kind, importer, resolveDir, pluginData: oneCopy });
      const [own, other] = await Promise.all([from(request.resolveDir), from(bedrock)]);
      return versionOf(other.path) === versionOf(own.path) ? other : own;
    }),
};

function versionOf(module: string): string {
  const folder = module.slice(0, module.lastIndexOf('/dist/'));
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Modules of Node.js that the SDK's parts need seldom or never: 4 to 6 ms of a start that is five times as long in all. */
const lazyModules = ['dgram', 'dns/promises', 'fs/promises', 'zlib'];

/**
 * Modules of Node.js as `require` gives them. An `import` of one reads all its exports, and some of those load more when
 * they are read: `node:http` its WebSocket and with it the whole of undici, 20 ms of processor. What is seldom needed loads with its first call: its functions stand in the bundle in name only.
 */
const nodeModules: Plugin = {
  name: 'node-modules',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);
    onResolve({ filter }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      const isLazy = kind === 'import-statement' && lazyModules.includes(name);
      return { path: name, namespace: isLazy ? 'node-late' : 'node' };
    });
    onLoad({ filter: /./, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('node:${path}');`,
    }));
    onLoad({ filter: /./, namespace: 'node-late' }, ({ path }) => ({ contents: lazyModule(path) }));
  },
};

/** A module whose functions load it. A class or a constant of it that is imported by name fails the build. */
function lazyModule(name: string): string {
  const module = `process.getBuiltinModule('node:${name}')`;
  const functions = Object.entries(process.getBuiltinModule(`node:${name}`) ?? {}).flatMap(([key, value]) =>
    typeof value === 'function' && /^[a-z]/.test(key) ? [key] : [],
  );
  return [
    ...functions.map((key) => `export const ${key} = (...given) => ${module}.${key}(...given);`),
    `export default /* @__PURE__ */ new Proxy({}, { get: (_, key) => ${module}[key] });`,
  ].join('\n');
}

/** What is imported late and stands beside is found there. */
const siblingModules: Plugin = {
  name: 'standing-beside',
  setup: ({ onResolve }) =>
    onResolve(
      {
        filter: new RegExp(
          `/(${[...ofAgents, webhookClients].map((source) => basename(source, '.ts')).join('|')})\\.ts$`,
        ),
      },
      ({ kind, path }) =>
        kind === 'dynamic-import' ? { path: `./${basename(path, '.ts')}.mjs`, external: true } : undefined,
    ),
};

const options = {
  absWorkingDir: projectFolder,
  outdir: outputFolder,
  outExtension: { '.js': '.mjs' },
  write: false,
  metafile: true,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: ['module', 'main'],
  // `module` first: under `node` the AWS SDK offers CommonJS, which cannot be shaken and needs `require`.
  conditions: ['module', 'import'],
  alias: { '@aws-sdk/credential-provider-node': './functions/runtime/environment/lambda-credentials.ts' },
  plugins: [treeShakenZod, treeShakenSchemas, oneCopy, nodeModules, siblingModules],
  // WebAssembly of image codecs stands in the code, as one file on both kinds of processor.
  loader: { '.wasm': 'binary' },
  minify: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  logOverride: { 'import-is-undefined': 'error' },
} as const satisfies BuildOptions;
