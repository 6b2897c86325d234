import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from '#local/site/serve-site.ts';

const project = resolve(import.meta.dirname, '../..');

/** By the paths in the package, because these modules import each other by relative paths. */
const jsdiff = Object.fromEntries(
  ['diff/line', 'diff/base', 'util/params'].map((module) => [
    `/jsdiff/${module}.js`,
    fileURLToPath(import.meta.resolve(`diff/lib/${module}.js`)),
  ]),
);

export const playground: Site = {
  folder: join(import.meta.dirname, 'playground'),
  files: {
    '/openapi.json': join(project, 'docs/openapi.json'),
    ...jsdiff,
    '/markdown-it.js': fileURLToPath(import.meta.resolve('markdown-it/browser')),
  },
};

/** The key and the token are in the fragment, which a browser sends to no server. */
export const playgroundAddress = (baseUrl: string, apiKey: string, operatorToken = ''): string =>
  `${new URL(baseUrl).origin}/#key=${apiKey}&operator=${operatorToken}`;
