import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/**
 * Closes a resource after the last test of the file, and returns the resource. The file's resources close in the
 * reverse order of their start.
 */
export function closeAfterTests<Resource extends { close(): unknown }>(resource: Resource): Resource {
  afterAll(async () => {
    await resource.close();
  });
  return resource;
}

/** Creates a folder that is removed after the last test of the file. */
export async function temporaryFolder(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  // The emulator of a killed run may still write.
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
