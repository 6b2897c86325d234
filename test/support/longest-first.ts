import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files that take a minute although the files themselves are short. If they started last, each would keep one
 * worker busy while the other workers are idle.
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

/** First the files that take longest, then all others in Vitest's own order, by file size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
