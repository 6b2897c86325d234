import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testLibrary } from './library.ts';

export interface Tools {
  /** The folder with the programs and everything that is generated. */
  work: string;
  document: string;
  /** The ids of all operations. */
  operations: readonly string[];
  run: (
    command: string,
    args: readonly string[],
    options?: { folder?: string; env?: NodeJS.ProcessEnv },
  ) => string;
  has: (command: string, ...args: string[]) => boolean;
  esbuild: string;
}

const root = join(import.meta.dirname, '../..');

/** Generates, compiles and runs the clients of a language. Returns the missing tool if it cannot. */
type Language = (tools: Tools, env: NodeJS.ProcessEnv) => string | undefined;

/**
 * Lines that openapi-generator logs about every document of OpenAPI 3.1, about examples of bodies (Java), and about
 * models that it then generates correctly (Python).
 */
const expectedWarnings =
  /OpenAPI 3\.1 support is still in beta|Ignoring complex example on request body|Failed to get the schema name: null/;

function rejectWarnings(generator: string, output: string): void {
  const warnings = output
    .split('\n')
    .filter((line) => /\bWARN|\bERROR\b|warning/i.test(line) && !expectedWarnings.test(line))
    .filter((line) => !/INFO|writing file/.test(line));
  if (warnings.length > 0) throw new Error(`${generator} warns:\n${warnings.join('\n')}`);
}

/** Every operation is in the code, in the language's form of its name. */
function requireOperations(
  { operations }: Tools,
  folder: string,
  nameOf: (operation: string) => string,
): void {
  const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|py|go|java)$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  const missing = operations.map(nameOf).filter((name) => !new RegExp(`\\b${name}\\(`).test(code));
  if (missing.length > 0) throw new Error(`${folder} has no ${missing.join(', ')}`);
}

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** @returns undefined if Java or Maven is missing */
function openApiGenerator({ work, has, run }: Tools): string | undefined {
  if (!has('java', '-version') || !has('mvn', '-version')) return undefined;
  const folder = join(work, 'openapi-generator');
  if (!existsSync(join(folder, 'openapi-generator-cli-7.25.0.jar')))
    run('mvn', [
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${folder}`,
      '-DexcludeTransitive=true',
    ]);
  return join(folder, 'openapi-generator-cli-7.25.0.jar');
}

function generate(tools: Tools, jar: string, generator: string, folder: string, ...options: string[]): void {
  const output = tools.run('java', [
    ...['-jar', jar, 'generate', '-i', tools.document, '-g', generator, '-o', folder],
    ...options,
  ]);
  rejectWarnings(`openapi-generator ${generator}`, output);
}

const typescript: Language = (tools, env) => {
  const { run, work, document, esbuild } = tools;
  const folder = join(work, 'typescript');
  const bin = join(work, 'node_modules/.bin');
  const heyApi = run(join(bin, 'openapi-ts'), [
    '-i',
    document,
    '-o',
    join(folder, 'hey-api'),
    '-c',
    '@hey-api/client-fetch',
  ]);
  rejectWarnings('@hey-api/openapi-ts', heyApi);
  const schema = join(folder, 'openapi-typescript/schema.d.ts');
  rejectWarnings(
    'openapi-typescript',
    run(join(bin, 'openapi-typescript'), [document, '--default-non-nullable=false', '-o', schema]),
  );
  const jar = openApiGenerator(tools);
  if (jar !== undefined) {
    generate(tools, jar, 'typescript-fetch', join(folder, 'typescript-fetch/src'));
    requireOperations(tools, join(folder, 'typescript-fetch/src/apis'), String);
  }
  const sdk = readFileSync(join(folder, 'hey-api/sdk.gen.ts'), 'utf8');
  for (const operation of tools.operations)
    if (!sdk.includes(`export const ${operation} =`))
      throw new Error(`@hey-api/openapi-ts has no ${operation}`);
  run(join(bin, 'tsc'), ['-p', folder]);
  for (const name of ['hey-api', 'openapi-fetch']) {
    const bundle = join(folder, `${name}.bundle.mjs`);
    run(esbuild, [
      join(folder, `${name}.mts`),
      '--bundle',
      '--format=esm',
      '--log-level=warning',
      `--outfile=${bundle}`,
    ]);
    console.log(`typescript, ${name}:\n${run(process.execPath, [bundle], { env }).trimEnd()}`);
  }
  return undefined;
};

const python: Language = (tools, env) => {
  const { run, has, work, document } = tools;
  if (!has('python3', '-c', 'import sys, venv; assert sys.version_info >= (3, 11)')) return 'Python 3.11';
  const folder = join(work, 'python');
  const bin = join(folder, 'venv/bin');
  run('python3', ['-m', 'venv', 'venv'], { folder });
  run(join(bin, 'pip'), ['install', '-q', '--disable-pip-version-check', '-r', 'requirements.txt'], {
    folder,
  });
  const path = { PATH: `${bin}:${process.env.PATH}` };
  const generated = run(
    join(bin, 'openapi-python-client'),
    ['generate', '--path', document, '--output-path', join(folder, 'python-client')],
    { folder, env: path },
  );
  rejectWarnings('openapi-python-client', generated);
  const modules = readdirSync(join(folder, 'python-client'), { recursive: true, encoding: 'utf8' });
  const missing = tools.operations
    .map((operation) => `/${snakeCase(operation)}.py`)
    .filter((name) => !modules.some((module) => module.endsWith(name)));
  if (missing.length > 0) throw new Error(`openapi-python-client has no ${missing.join(', ')}`);
  run(join(bin, 'pip'), ['install', '-q', '--disable-pip-version-check', './python-client'], { folder });
  const jar = openApiGenerator(tools);
  if (jar !== undefined) {
    generate(tools, jar, 'python', join(folder, 'openapi-generator'));
    requireOperations(tools, join(folder, 'openapi-generator/openapi_client/api'), snakeCase);
    run(join(bin, 'pip'), ['install', '-q', '--disable-pip-version-check', './openapi-generator'], {
      folder,
    });
  }
  run(
    join(bin, 'python'),
    [
      '-W',
      'error',
      '-m',
      'compileall',
      '-q',
      'python-client',
      ...(jar === undefined ? [] : ['openapi-generator/openapi_client']),
    ],
    { folder },
  );
  for (const name of ['python_client', ...(jar === undefined ? [] : ['openapi_generator'])])
    console.log(`python, ${name}:\n${run(join(bin, 'python'), [`${name}.py`], { folder, env }).trimEnd()}`);
  const runDocumented = (...args: string[]) => {
    const output = run(join(bin, 'python'), args, { folder, env });
    if (!output.includes('You wrote: “')) throw new Error(`${args[0]} has no reply:\n${output}`);
    return output;
  };
  // Each block of the page stands for itself.
  const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
  const blocks = [...page.matchAll(/^```python\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const usable = blocks.filter((code) => jar !== undefined || !code.includes('openapi_client'));
  if (usable.length === 0) throw new Error('docs/clients.md has no program in Python');
  for (const code of usable) runDocumented('-c', code);
  // The separators would end lines for Python's splitlines.
  const question = 'A\u2028B\u0085C';
  const program = join(root, 'docs/examples/python/stream.py');
  for (const args of [[program], ['lost_connection.py', program]])
    if (!runDocumented(...args, question).includes(question)) throw new Error(`${args[0]} cut the text`);
  console.log(`python, documentation: ${usable.length} programs, and the stream with httpx`);
  return undefined;
};

const go: Language = (tools, env) => {
  const { run, has, work, document } = tools;
  if (!has('go', 'version')) return 'go';
  const folder = join(work, 'go');
  const config = ['-generate', 'types,client,skip-prune', '-package', 'api', '-o', 'api/api.go', document];
  rejectWarnings(
    'oapi-codegen',
    run('go', ['run', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2', ...config], {
      folder,
    }),
  );
  requireOperations(
    tools,
    join(folder, 'api'),
    (operation) => `New${capitalized(operation)}Request(?:WithBody)?`,
  );
  run('go', ['mod', 'tidy'], { folder });
  run('go', ['vet', './...'], { folder });
  console.log(`go, oapi-codegen:\n${run('go', ['run', '.'], { folder, env }).trimEnd()}`);
  const jar = openApiGenerator(tools);
  if (jar !== undefined) {
    const generated = join(work, 'go-openapi-generator');
    generate(tools, jar, 'go', generated);
    requireOperations(tools, generated, capitalized);
    run('go', ['build', './...'], { folder: generated });
  }
  return undefined;
};

const java: Language = (tools, env) => {
  const { run, work } = tools;
  const jar = openApiGenerator(tools);
  if (jar === undefined) return 'Java or Maven';
  const folder = join(work, 'java/client');
  generate(
    tools,
    jar,
    'java',
    folder,
    '--library',
    'native',
    '--additional-properties',
    'hideGenerationTimestamp=true',
  );
  requireOperations(tools, join(folder, 'src/main/java'), String);
  run(
    'mvn',
    [
      '-q',
      '-B',
      '-DskipTests',
      '-Dmaven.javadoc.skip=true',
      'test-compile',
      'dependency:copy-dependencies',
      '-DoutputDirectory=libraries',
    ],
    { folder },
  );
  const output = run('java', ['-cp', 'target/classes:libraries/*', '../Drive.java'], { folder, env });
  console.log(`java, openapi-generator:\n${output.trimEnd()}`);
  return undefined;
};

export const languages: Readonly<Record<string, Language>> = {
  typescript,
  library: testLibrary,
  python,
  go,
  java,
};
