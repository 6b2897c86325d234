import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { useScriptedService } from '#support/use-service.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '../..');
const library = join(project, 'lib/client');
const { service, tenant } = await useScriptedService(undefined, { model: 'demo' });

test('the code of the README has right types, and runs', async () => {
  const text = await readFile(join(library, 'README.md'), 'utf8');
  const [start = '', ...blocks] = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  expect(blocks.length).toBeGreaterThan(8);
  const isImport = (line: string): boolean => line.startsWith('import ');
  const code = [
    ...[start, ...blocks].flatMap((block) => block.split('\n').filter(isImport)),
    start
      .split('\n')
      .filter((line) => !isImport(line))
      .join('\n'),
    // Each block has names of its own.
    ...blocks.map((block, index) => {
      const lines = block.split('\n').filter((line) => !isImport(line));
      return `async function block${index}() {\n${lines.join('\n').replace('export async', 'async')}\n}\nawait block${index}();`;
    }),
  ].join('\n');
  const folder = join(project, 'node_modules/.cache/client-readme', String(process.pid));
  await mkdir(folder, { recursive: true });
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = join(folder, 'readme.mts');
  await writeFile(program, code);
  const paths = {
    '@chat-batch/client': [join(library, 'index.ts')],
    '@chat-batch/client/node': [join(library, 'node.ts')],
  };
  const config = {
    extends: join(project, 'tsconfig.json'),
    compilerOptions: { paths, noUnusedLocals: false, typeRoots: [join(project, 'node_modules/@types')] },
    include: ['readme.mts'],
    exclude: [],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const types = await run(join(project, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  expect(types.stdout).toBe('');
  const outfile = join(folder, 'readme.mjs');
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: Object.fromEntries(Object.entries(paths).map(([name, [path = '']]) => [name, path])),
  });
  const { stdout } = await run(process.execPath, [outfile], {
    cwd: project,
    env: { ...process.env, CHAT_BATCH_URL: service.baseUrl, CHAT_BATCH_KEY: tenant.apiKey },
  });
  for (const printed of ['response.output_text.completed', '2/2', 'Rome success', 'There is no such chat'])
    expect(stdout).toContain(printed);
});
