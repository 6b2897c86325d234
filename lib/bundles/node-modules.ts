import { builtinModules } from 'node:module';
import type { Plugin } from 'esbuild';

/** Modules of Node.js that most calls do not need. */
const lazyModules = ['dgram', 'dns/promises', 'fs/promises', 'zlib'];

/**
 * Replaces `import`, which would read all exports of a module: some load other modules when they are read, as
 * `WebSocket` of `node:http` loads undici.
 */
export const nodeModules: Plugin = {
  name: 'node-modules',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(node:)?(${builtinModules.join('|')})$`);
    onResolve({ filter }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      const isLazy = kind === 'import-statement' && lazyModules.includes(name);
      return { path: name, namespace: isLazy ? 'node-lazy' : 'node' };
    });
    onLoad({ filter: /./, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('node:${path}');`,
    }));
    onLoad({ filter: /./, namespace: 'node-lazy' }, ({ path }) => ({ contents: lazyModule(path) }));
  },
};

/** The build fails if a class or a constant of the module is imported by name. */
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
