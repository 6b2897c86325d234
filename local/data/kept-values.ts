import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface KeptValues {
  get(key: string): string | undefined;
  /** Seen by `get` at once, on disk when the promise resolves. */
  put(key: string, value: string): Promise<void>;
  /** The value under this key; drawn and stored when there is none yet. */
  keep(key: string, draw: () => string): Promise<string>;
}

/** Values that stay the same over restarts, in a file that only the owner can read. */
export async function openKeptValues(dataDir: string, name: string): Promise<KeptValues> {
  const file = path.join(dataDir, `${name}.json`);
  const text = await readFile(file, 'utf8').catch(() => '{}');
  const values = new Map(Object.entries(JSON.parse(text) as Record<string, string>));
  let writing = Promise.resolve();

  function put(key: string, value: string): Promise<void> {
    values.set(key, value);
    const written = writing.then(async () => {
      const content = JSON.stringify(Object.fromEntries(values), null, 2);
      await writeFile(`${file}.new`, `${content}\n`, { mode: 0o600 });
      await rename(`${file}.new`, file);
    });
    writing = written.catch(() => {});
    return written;
  }

  return {
    get: (key) => values.get(key),
    put,
    async keep(key, draw) {
      const kept = values.get(key);
      if (kept !== undefined) return kept;
      const value = draw();
      await put(key, value);
      return value;
    },
  };
}
