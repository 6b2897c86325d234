import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files that take a minute although the files themselves are short. If they started last, each would keep one
 * worker busy while the other workers are idle.
 */
const longest = ['service/batch-scale', 'service/soak'];

const paths = longest.map((name) => join(import.meta.dirname, '..', `${name}.test.ts`));
const missing = paths.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`The order of the tests names files that do not exist: ${missing}`);

const isLong = ({ moduleId }: TestSpecification): boolean => paths.includes(moduleId);

/**
 * First the files that take longest, then the other files of their project, then all others in Vitest's own order, by
 * project and file size. A worker loads the libraries of a project once, as long as its next file is of that project.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const long = sorted.filter(isLong);
    const projects = new Set(long.map(({ project }) => project));
    const others = sorted.filter((file) => !isLong(file));
    return [
      ...long,
      ...others.filter(({ project }) => projects.has(project)),
      ...others.filter(({ project }) => !projects.has(project)),
    ];
  }
}
