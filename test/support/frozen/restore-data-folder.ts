import { chmod, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decrypt, encrypt, keyIdOf } from '#local/kms/key-operations.ts';
import { databaseName, restoreDatabase } from './database-text.ts';
import type { FrozenFolder } from './freeze-data-folder.ts';
import { fixtures } from './read-frozen.ts';
import { shiftTimes } from './shift-times.ts';

interface RestoreOptions {
  /** The synthesized template, copied into the folder. A start synthesizes a new one if the sources have changed. */
  assembly: string;
  /** The current address of the webhook's receiver. */
  receiver: string;
  /** How long ago the service was killed. */
  minutesAgo: number;
}

/**
 * Restores the frozen data folder as if its service had been killed `minutesAgo`: all times are shifted by one
 * constant. The file modes are the system's defaults, as the version that made the folder left them.
 */
export async function restoreDataFolder(target: string, options: RestoreOptions): Promise<FrozenFolder> {
  const frozen = JSON.parse(await readFile(join(fixtures, 'data-folder.json'), 'utf8')) as FrozenFolder;
  const by = Date.now() - options.minutesAgo * 60_000 - frozen.frozenAt;
  await cp(join(fixtures, 'data-folder'), target, { recursive: true });
  const shifted = async (name: string): Promise<string> => {
    const text = await readFile(join(target, name), 'utf8');
    return shiftTimes(text, { frozenAt: frozen.frozenAt, by }).replaceAll(frozen.receiver, options.receiver);
  };
  await writeFile(join(target, 'executions.jsonl'), await shifted('executions.jsonl'));
  const keys = JSON.parse(await readFile(join(target, 'keys.json'), 'utf8')) as Record<string, string>;
  const moved = (url: string): string => url.replace(frozen.receiver, options.receiver);
  restoreDatabase(join(target, databaseName), moveTargets(await shifted(`${databaseName}.sql`), keys, moved));
  await rm(join(target, `${databaseName}.sql`));
  await cp(options.assembly, join(target, 'assembly'), { recursive: true });
  for (const entry of await readdir(target, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  await chmod(target, 0o755);
  return frozen;
}

/** Changes the targets of webhooks, which are encrypted for their batches. */
const moveTargets = (
  database: string,
  keys: Readonly<Record<string, string>>,
  moved: (target: string) => string,
): string =>
  database.replaceAll(
    /'S:W#([^#']+)#B#([^#']+)', 'S:HOOK'.*?"target":\{"S":"([^"]+)"/g,
    (line, workspace: string, batch: string, target: string) => {
      const ciphertext = Buffer.from(target, 'base64');
      const id = keyIdOf(ciphertext) ?? '';
      const key = Buffer.from(keys[id] ?? '', 'base64');
      const text = decrypt(key, ciphertext, { workspace, batch }).toString();
      const anew = encrypt(id, key, Buffer.from(moved(text)), { workspace, batch });
      return line.replace(target, () => anew.toString('base64'));
    },
  );
