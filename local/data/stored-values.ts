import path from 'node:path';
import { readState, writeState } from './state-file.ts';

export interface StoredValues {
  get(key: string): string | undefined;
  /** Seen by `get` at once, on disk when the promise resolves. */
  put(key: string, value: string): Promise<void>;
  /** The value under this key; drawn and stored when there is none yet. */
  retain(key: string, draw: () => string): Promise<string>;
}

/** Values that stay the same over restarts, in a file that only the owner can read. */
export async function openStoredValues(dataDir: string, name: string): Promise<StoredValues> {
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
    get: (key) => values.get(key),
    put,
    async retain(key, draw) {
      const stored = values.get(key);
      if (stored !== undefined) return stored;
      const value = draw();
      await put(key, value);
      return value;
    },
  };
}

function readValues(text: string): [key: string, value: string][] {
  const values: unknown = JSON.parse(text);
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw new Error('it has no keys and values');
  return Object.entries(values).map(([key, value]) => {
    if (typeof value !== 'string') throw new Error(`the value of ${key} is no text`);
    return [key, value];
  });
}
