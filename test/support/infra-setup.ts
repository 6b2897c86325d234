import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The folder where tests of the template synthesize. This setup removes the folder, because no test file knows
     * whether it is the last one.
     */
    synthFolder: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'infra-test-'));
  project.provide('synthFolder', folder);
  return () => rm(folder, { recursive: true, force: true });
}
