import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take a minute, however short they are themselves. If they started last, each would keep one worker busy
 * while the others have nothing left to do.
 */
const longest = [
  'batch-chaos',
  'batch-scale',
  'batch-worker-deaths',
  'soak',
  'webhook-restart',
  'upload-memory',
];

const paths = longest.map((name) => join(import.meta.dirname, '../service', `${name}.test.ts`));
const missing = paths.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`The order of the tests names files that do not exist: ${missing}`);

const isLong = ({ moduleId }: TestSpecification): boolean => paths.includes(moduleId);

/** Vitest's own order, by size, after the files that take longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
