import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from '#local/site/serve-site.ts';

const project = resolve(import.meta.dirname, '../..');

/** The playground, which a local run serves at `/`, its parser of Markdown, and the document for its reference. */
export const playground: Site = {
  folder: join(project, 'local/playground'),
  files: {
    '/openapi.json': join(project, 'docs/openapi.json'),
    '/markdown-it.js': fileURLToPath(import.meta.resolve('markdown-it/browser')),
  },
};

/** With the key in the fragment, which a browser sends to no server. */
export const playgroundAddress = (baseUrl: string, apiKey: string): string =>
  `${new URL(baseUrl).origin}/#key=${apiKey}`;
