import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/**
 * Packages of the AI SDK import `z`, one object with all of zod and its messages in many languages. esbuild cannot
 * tree-shake an object, but it can tree-shake a namespace. So this plugin lets the packages import the namespace, which
 * has the same members.
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

/**
 * Schemas of the AWS SDK have computed member names (`[_name]: …`). esbuild assumes that these may have side effects,
 * so it retains all schemas. This plugin writes literal names in their place, so that esbuild can drop the schemas of
 * unused commands.
 */
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
