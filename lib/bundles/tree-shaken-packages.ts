import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/**
 * esbuild cannot tree-shake `z`, one object with all of zod and its messages in many languages, but it can tree-shake a
 * namespace.
 */
export const treeShakenZod: Plugin = {
  name: 'tree-shaken-zod',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]@ai-sdk[\\/].*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        /^import \{ z(?: as (\w+))? \} from "zod\/v4";$/gm,
        (_whole, name = 'z') => `import * as ${name} from "zod/v4";`,
      ),
    })),
};

/** esbuild assumes that computed member names (`[_name]: …`) may have side effects, so it retains schemas with them. */
export const treeShakenSchemas: Plugin = {
  name: 'tree-shaken-schemas',
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
