import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderCost } from './cost/render-cost.ts';

const file = join(import.meta.dirname, '..', 'docs', 'cost.md');
const text = renderCost();

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/cost.md does not match bin/cost: run npm run cost');
  process.exitCode = 1;
}
