import { openApiDocument } from '#lib/openapi-document.ts';
import manifest from '../package.json' with { type: 'json' };
import { writeOrCheck } from './write-or-check.ts';

const text = `${JSON.stringify(openApiDocument(manifest.version), null, 2)}\n`;
writeOrCheck('docs/openapi.json', text, 'does not match the route table: run npm run openapi');
