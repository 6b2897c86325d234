import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from '#local/site/serve-site.ts';

const project = resolve(import.meta.dirname, '../..');

/** The modules of jsdiff that compare lines, by their paths in the site. They import each other by relative paths. */
const jsdiff = Object.fromEntries(
  ['diff/line', 'diff/base', 'util/params'].map((module) => [
    `/jsdiff/${module}.js`,
    fileURLToPath(import.meta.resolve(`diff/lib/${module}.js`)),
  ]),
);

/**
 * The playground, which a local run serves at `/`. Its further files are a parser of Markdown, a comparison of texts,
 * and the document for its reference.
 */
export const playground: Site = {
  folder: join(import.meta.dirname, 'playground'),
  files: {
    '/openapi.json': join(project, 'docs/openapi.json'),
    ...jsdiff,
    '/markdown-it.js': fileURLToPath(import.meta.resolve('markdown-it/browser')),
  },
};

/**
 * The address of the playground, with the key and the operator's token in the fragment. A browser sends the fragment to
 * no server.
 */
export const playgroundAddress = (baseUrl: string, apiKey: string, operatorToken = ''): string =>
  `${new URL(baseUrl).origin}/#key=${apiKey}&operator=${operatorToken}`;
