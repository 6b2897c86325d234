import { readFile, rename, writeFile } from 'node:fs/promises';

/** A file of the data folder that is torn, or that nobody may read: whoever started the run can mend it, or begin anew. */
export class UnreadableState extends Error {
  constructor(file: string, reason: string) {
    super(`${file} cannot be read: ${reason}`);
    this.name = 'UnreadableState';
  }
}

/**
 * Reads what an earlier run has left.
 * @param read throws when the text is not what it wrote
 * @returns undefined when there is no such file
 * @throws UnreadableState
 */
export async function readState<State>(
  file: string,
  read: (text: string) => State,
): Promise<State | undefined> {
  try {
    return read(await readFile(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    // JSON.parse quotes what it has read, over several lines if it must, and that may be a secret.
    throw new UnreadableState(
      file,
      error instanceof SyntaxError ? 'its JSON is damaged' : (error as Error).message,
    );
  }
}

/** Whoever reads the file sees all of it, as it was or as it is now, also after a crash. Only its owner may. */
export async function writeState(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}
