import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = import.meta.dirname;

async function buildPackage(dist: string): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  for (const [name, type] of [
    ['esm', 'module'],
    ['cjs', 'commonjs'],
  ] as const) {
    mkdirSync(join(dist, name), { recursive: true });
    writeFileSync(join(dist, name, 'package.json'), `${JSON.stringify({ type })}\n`);
    await build({
      entryPoints: [join(folder, 'index.ts'), join(folder, 'node.ts')],
      outdir: join(dist, name),
      bundle: true,
      format: name,
      platform: 'neutral',
      external: ['node:*'],
      target: 'es2022',
      logLevel: 'warning',
    });
  }
  const types = join(dist, 'types');
  const tsc = join(folder, '../../node_modules/.bin/tsc');
  const { status } = spawnSync(tsc, ['-p', folder, '--outDir', types], { stdio: 'inherit' });
  if (status !== 0) throw new Error('tsc has failed');
  for (const name of readdirSync(types)) {
    const path = join(types, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
  for (const name of ['esm', 'cjs']) cpSync(types, join(dist, name), { recursive: true });
  rmSync(types, { recursive: true });
}

await buildPackage(process.argv[2] ?? join(folder, 'dist'));
