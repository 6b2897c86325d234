import { rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { reasonOf } from '#local/data/state-file.ts';

/**
 * Writes `<out>.partial`, and renames it when it is complete. A signal that kills the process leaves it.
 * @param write gets the file in append mode
 */
export async function writeWhole(out: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const partial = `${out}.partial`;
  await rm(partial, { force: true });
  const file = await open(partial, 'a', 0o600).catch((error: unknown) => {
    throw new Error(`${out} cannot be written: ${reasonOf(error)}`);
  });
  const remove = () => rmSync(partial, { force: true });
  process.once('exit', remove);
  try {
    await write(file);
    await file.sync();
    await file.close();
    await rename(partial, out);
  } catch (error) {
    await file.close();
    remove();
    throw error;
  } finally {
    process.off('exit', remove);
  }
}
