import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes a file of the project that is made from others. With `--check`, it only compares the file: the exit code is 1
 * if the file differs.
 * @param difference says what is wrong if the file differs, and what to do
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
