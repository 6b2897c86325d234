import path from 'node:path';
import { readState, writeState } from './state-file.ts';

export interface StoredValues {
  readonly file: string;
  get(key: string): string | undefined;
  /** `get` returns the new value at once; the value is on disk when the promise resolves. */
  put(key: string, value: string): Promise<void>;
  /** The value under this key. If there is none yet, it is generated and stored. */
  getOrCreate(key: string, generate: () => string): Promise<string>;
}

/** Values that stay the same over restarts, in a file that only its owner can read. */
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
    file,
    get: (key) => values.get(key),
    put,
    async getOrCreate(key, generate) {
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
