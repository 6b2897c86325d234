import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderSettings } from './settings/render-settings.ts';

const file = join(import.meta.dirname, '..', 'docs', 'settings.md');
const text = renderSettings();

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/settings.md is not what lib/settings says: run npm run settings');
  process.exitCode = 1;
}
