import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take a minute, however short they are themselves: begun last, each would keep one worker busy when the others
 * have nothing left to do.
 */
const longest = [
  'batch-chaos',
  'batch-scale',
  'batch-worker-deaths',
  'soak',
  'webhook-restart',
  'upload-memory',
];

const isLong = ({ moduleId }: TestSpecification): boolean =>
  longest.some((name) => moduleId.endsWith(`/test/service/${name}.test.ts`));

/** Vitest's own order, by size, behind the files that take longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
