import { createHash } from 'node:crypto';
import {
  cpSync,
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
import { basename, dirname, join, relative } from 'node:path';
import { type BuildOptions, type BuildResult, build, type Metafile, type Plugin } from 'esbuild';
import { nodeModules } from './node-modules.ts';
import { treeShakenSchemas, treeShakenZod } from './tree-shaken-packages.ts';

const projectFolder = join(import.meta.dirname, '../..');

export type FunctionBundles = Awaited<ReturnType<typeof bundleFunctions>>;

const folders = ['http', 'web', 'queues', 'workflow', 'schedules', 'tasks'];

const namesIn = (folder: string): string[] =>
  readdirSync(join(projectFolder, 'functions', folder)).map((file) => basename(file, '.ts'));

export const functionNames: readonly string[] = folders.filter((folder) => folder !== 'web').flatMap(namesIn);
export const webFunctionNames: readonly string[] = namesIn('web');

const objectStores = 'functions/runtime/composition/object-stores.ts';
const webhookClients = 'functions/runtime/composition/webhook-clients.ts';
const replyForm = 'functions/domain/chats/reply-form.ts';
const agentEntryPoints = [
  replyForm,
  objectStores,
  'functions/adapters/mcp/mcp-client.ts',
  'functions/adapters/text-thread/text-thread.ts',
  'functions/runtime/composition/bedrock-agent-client.ts',
  'functions/runtime/composition/tool-secret-cipher.ts',
  'functions/agents/models/amazon-bedrock.ts',
  'functions/agents/models/demo-model.ts',
];

/**
 * Worker threads, and modules that a function imports when a call first needs them. These files share no code with
 * `index.mjs`.
 */
const entryPoints: Readonly<Record<string, readonly string[]>> = {
  'create-batch': [replyForm, webhookClients],
  'complete-chat': agentEntryPoints,
  'list-batch-results': [objectStores],
  'list-messages': [objectStores],
  'purge-chat': [objectStores],
  'process-batch-items': agentEntryPoints,
  'send-message': agentEntryPoints,
  'serve-chats': agentEntryPoints,
  'test-agent': agentEntryPoints,
  'prepare-attachment': [
    'functions/adapters/documents/extraction-thread.ts',
    'functions/adapters/images/shrinking-thread.ts',
  ],
};

const packageData: Readonly<Record<string, readonly string[]>> = {
  // The library that reads PDFs needs the tables of Chinese, Japanese and Korean encodings.
  'prepare-attachment': ['pdfjs-dist/package.json', 'pdfjs-dist/cmaps'],
};

const splitBundles = Object.keys(entryPoints).filter((name) => entryPoints[name] === agentEntryPoints);

/** In bundles that are not split, these modules are external: they, and what only they import, are left out. */
const deferredImports = [
  './functions/runtime/composition/tool-adapters.ts',
  './functions/runtime/composition/remote-tools.ts',
  './functions/runtime/composition/function-tools.ts',
];

/**
 * A web function runs `index.js`, unless AWS_LAMBDA_NODEJS_ENTRYPOINT names another file. AWS's documents disagree on
 * whether a function may set this variable.
 */
const serverFiles = { 'index.js': "import './index.mjs';\n", 'package.json': '{ "type": "module" }\n' };

const cache = join(projectFolder, 'node_modules/.cache/function-bundles');
const cachedBundles = 4;

/** All that bundles are built from, packages by the lock file. A change elsewhere would not replace cached bundles. */
const bundleSources = ['functions', 'lib/bundles', 'package.json', 'package-lock.json', 'tsconfig.json'];

export async function bundleFunctions(names: readonly string[] = [...functionNames, ...webFunctionNames]) {
  const sources = new Map(names.map((name) => [name, sourceOf(name)]));
  for (const path of deferredImports)
    if (!existsSync(join(projectFolder, path))) throw new Error(`No source file to import later: ${path}`);
  const folder = join(cache, digest(names));
  if (!existsSync(folder)) {
    const built = await buildBundles(entryPointsOf(sources));
    rejectMissing(built.metafile);
    writeBundles(built, names, folder);
  }
  utimesSync(folder, new Date(), new Date());
  removeOldBundles();
  return {
    folderOf: (name: string): string => join(folder, name),
    metafile: () => JSON.parse(readFileSync(join(folder, 'metafile.json'), 'utf8')) as Metafile,
  };
}

function digest(names: readonly string[]): string {
  const hash = createHash('sha256').update(names.join());
  for (const source of bundleSources)
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

/** Without these checks, only calls of the functions would fail. */
function rejectMissing({ outputs }: Metafile): void {
  for (const [output, { imports }] of Object.entries(outputs))
    for (const { path, external, kind } of imports) {
      if (external && path.startsWith('./') && !(join(dirname(output), path) in outputs))
        throw new Error(
          `${output} imports ${path}, which is not next to it: see \`entryPoints\` in lib/bundles/function-bundles.ts`,
        );
      if (external && kind === 'import-statement' && path.endsWith('.ts'))
        throw new Error(
          `${output} imports ${path} at its start: import it where it is needed, with \`import()\``,
        );
    }
}

/** Renames a complete draft, so that a concurrent synth never reads an incomplete bundle. */
function writeBundles(
  { outputFiles, metafile }: BuiltBundles,
  names: readonly string[],
  folder: string,
): void {
  const draft = `${folder}.${process.pid}`;
  for (const file of outputFiles) {
    const target = join(draft, relative(outputFolder, file.path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.contents);
  }
  for (const name of names) {
    for (const data of packageData[name] ?? [])
      cpSync(join(projectFolder, 'node_modules', data), join(draft, name, 'node_modules', data), {
        recursive: true,
      });
    if (webFunctionNames.includes(name))
      for (const [file, content] of Object.entries(serverFiles))
        writeFileSync(join(draft, name, file), content);
  }
  writeFileSync(join(draft, 'metafile.json'), JSON.stringify(metafile));
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOldBundles(): void {
  const lastUse = (name: string) => statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const uses = readdirSync(cache).map((name) => ({ name, at: lastUse(name) }));
  for (const { name } of uses.toSorted((one, other) => other.at - one.at).slice(cachedBundles))
    rmSync(join(cache, name), { recursive: true, force: true });
}

export function sourceOf(name: string): string {
  const candidates = folders.map((folder) => join('functions', folder, `${name}.ts`));
  const source = candidates.find((candidate) => existsSync(join(projectFolder, candidate)));
  if (source === undefined) throw new Error(`No source file for a function: ${candidates.join(' or ')}`);
  return source;
}

/** esbuild writes nothing there, but makes the paths in source maps as if it did. */
const outputFolder = join(projectFolder, 'bundles');

export type BuiltBundles = Pick<BuildResult<{ metafile: true; write: false }>, 'outputFiles' | 'metafile'>;

/**
 * Each split bundle has a call of esbuild of its own: otherwise its chunks would be shared with other functions.
 * @param entryPoints source files by output, `<name>/<module>` without extension
 */
export async function buildBundles(entryPoints: Readonly<Record<string, string>>): Promise<BuiltBundles> {
  const groups = Map.groupBy(Object.entries(entryPoints), ([output]) =>
    splitBundles.find((name) => output === `${name}/index`),
  );
  const built = await Promise.all(
    [...groups].map(([splitName, entries]) =>
      build({
        ...options,
        entryPoints: Object.fromEntries(entries),
        ...(splitName === undefined
          ? { external: deferredImports }
          : { splitting: true, chunkNames: `${splitName}/[name]-[hash]` }),
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

const siblingModules: Plugin = {
  name: 'sibling-modules',
  setup: ({ onResolve }) =>
    onResolve(
      {
        filter: new RegExp(
          `/(${[...agentEntryPoints, webhookClients].map((source) => basename(source, '.ts')).join('|')})\\.ts$`,
        ),
      },
      ({ kind, path }) =>
        kind === 'dynamic-import' ? { path: `./${basename(path, '.ts')}.mjs`, external: true } : undefined,
    ),
};

const mcpShims = './functions/adapters/mcp/client-shims.ts';

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
  // `module` selects ESM. Under `node` alone the AWS SDK has CommonJS, which esbuild cannot tree-shake.
  conditions: ['module', 'import'],
  alias: {
    '@aws-sdk/credential-provider-node': './functions/runtime/environment/lambda-credentials.ts',
    '@modelcontextprotocol/client/_shims': mcpShims,
    jose: mcpShims,
  },
  plugins: [treeShakenZod, treeShakenSchemas, nodeModules, siblingModules],
  // WebAssembly works on arm64 and x86-64, so the code of image codecs may be in the bundle.
  loader: { '.wasm': 'binary' },
  minify: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  logOverride: { 'import-is-undefined': 'error' },
} as const satisfies BuildOptions;
