import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * With `--check`, only compares the file: the exit code is 1 if it differs.
 * @param difference follows the path in the error
 */
export function writeOrCheck(path: string, text: string, difference: string): void {
  const file = join(import.meta.dirname, '..', path);
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} ${difference}`);
    process.exitCode = 1;
  }
}
