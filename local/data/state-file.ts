import { readFile, rename, writeFile } from 'node:fs/promises';
import { reasonOf } from './reason-of.ts';

/** A file of the data folder is damaged or not readable. The operator can repair it, or start with an empty folder. */
export class UnreadableState extends Error {
  constructor(file: string, reason: string) {
    super(`${file} cannot be read: ${reason}`);
    this.name = 'UnreadableState';
  }
}

/**
 * Reads a file that an earlier run has written.
 * @param read parses the text; throws if the text is damaged
 * @returns undefined if the file does not exist
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
    // The message of JSON.parse quotes the text, which may be a secret or have several lines.
    throw new UnreadableState(file, error instanceof SyntaxError ? 'its JSON is damaged' : reasonOf(error));
  }
}

/**
 * Replaces the file atomically: after a crash it has the whole old or the whole new text. Only its owner can read it.
 */
export async function writeState(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}
