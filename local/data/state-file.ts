import { readFile, rename, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import { getSystemErrorMessage } from 'node:util';

export class UnreadableState extends Error {
  constructor(file: string, reason: string) {
    super(`${file} cannot be read: ${reason}`);
    this.name = 'UnreadableState';
  }
}

/**
 * Undefined if the file does not exist.
 * @throws UnreadableState, also if `read` throws
 */
export async function readState<State>(
  file: string,
  read: (text: string) => State,
): Promise<State | undefined> {
  try {
    return read(await readFile(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    // The message of JSON.parse may quote the text, which may be a secret.
    throw new UnreadableState(file, error instanceof SyntaxError ? 'its JSON is damaged' : reasonOf(error));
  }
}

/** After a crash, the file has either the old or the new text. Only one call at a time may write a file. */
export async function writeState(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

/** @throws UnreadableState */
export async function openStoredValues(dataDir: string, name: string) {
  const file = path.join(dataDir, `${name}.json`);
  const values = new Map(await readState(file, readValues));
  let writing = Promise.resolve();

  function put(key: string, value: string): Promise<void> {
    values.set(key, value);
    const written = writing.then(() =>
      writeState(file, `${JSON.stringify(Object.fromEntries(values), null, 2)}\n`),
    );
    writing = written.catch(() => {});
    return written;
  }

  return {
    file,
    get: (key: string): string | undefined => values.get(key),
    /** Resolves when the value is on disk; `get` returns it immediately. */
    put,
    async getOrCreate(key: string, generate: () => string): Promise<string> {
      const stored = values.get(key);
      if (stored !== undefined) return stored;
      const value = generate();
      await put(key, value);
      return value;
    },
  };
}

function readValues(text: string): [key: string, value: string][] {
  const values: unknown = JSON.parse(text);
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw new Error('it is not a JSON object');
  return Object.entries(values).map(([key, value]) => {
    if (typeof value !== 'string') throw new Error(`the value of ${key} is not a string`);
    return [key, value];
  });
}

/** Why a call failed. Omits the code, the call and the path that Node.js adds to the message of a system error. */
export function reasonOf(error: unknown): string {
  const { code = '', errno = errnoOf(code), message } = error as NodeJS.ErrnoException;
  // The system's text is "illegal operation on a directory".
  if (code === 'EISDIR') return 'it is a folder';
  return errno === undefined ? message : getSystemErrorMessage(errno);
}

/** The error of a connection that failed at several addresses has a code, but no number. */
function errnoOf(code: string): number | undefined {
  const number = (constants.errno as Readonly<Record<string, number>>)[code];
  return number === undefined ? undefined : -number;
}

export type StoredValues = Awaited<ReturnType<typeof openStoredValues>>;
