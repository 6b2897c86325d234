import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '#lib/openapi-document.ts';
import manifest from '../package.json' with { type: 'json' };

const file = join(import.meta.dirname, '..', 'docs', 'openapi.json');
const text = `${JSON.stringify(openApiDocument(manifest.version), null, 2)}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/openapi.json does not match the route table: run npm run openapi');
  process.exitCode = 1;
}
