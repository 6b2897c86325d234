import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Values that are drawn once and stay the same over restarts, in a file that only the owner can read. */
export async function openKeptValues(dataDir: string, name: string) {
  const file = path.join(dataDir, `${name}.json`);
  const text = await readFile(file, 'utf8').catch(() => '{}');
  const values = JSON.parse(text) as Record<string, string>;
  return {
    /** The value under this key; drawn and stored when there is none yet. */
    async keep(key: string, draw: () => string): Promise<string> {
      const kept = values[key];
      if (kept !== undefined) return kept;
      const value = draw();
      values[key] = value;
      await writeFile(`${file}.new`, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 });
      await rename(`${file}.new`, file);
      return value;
    },
  };
}
