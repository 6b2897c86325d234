import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decrypt, encrypt, keyIdOf } from '#local/kms/key-operations.ts';
import type { Connection } from '../../../bin/local/connection.ts';
import type { requestsOf } from '../batches.ts';
import { fixtures } from './read-frozen.ts';

interface FrozenBatch {
  id: string;
  requests: ReturnType<typeof requestsOf>;
}

/** What a client had made in the data folder of `npm start` when the service was killed. */
export interface FrozenFolder {
  /** When the service was killed, in epoch milliseconds. */
  frozenAt: number;
  /** The address of the webhook's receiver. */
  receiver: string;
  connection: Connection;
  agentId: string;
  userId: string;
  webhookSecret: string;
  /** A chat with a history, an attached file, feedback, and a reply that is too large for one item. */
  chat: { id: number; fileUuid: string; messages: { id: number; role: string; content: string }[] };
  /** A chat whose reply was in progress. */
  cutChat: { id: number; message: string };
  batches: {
    /** In progress: some requests have ended, some are running, some wait for a retry, some were never started. */
    open: FrozenBatch;
    /** Cancelled, with one request still running. */
    cancelling: FrozenBatch;
    /** Ended; the first attempt of its webhook failed, and the next one is due. */
    undelivered: FrozenBatch;
  };
}

/** The DynamoDB emulator's file in a data folder. The fixture has it as SQL, a statement a line. */
const databaseName = 'dynamodb.sqlite';

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
 * constant.
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
  const statements = moveTargets(await shifted(`${databaseName}.sql`), keys, moved);
  const database = new DatabaseSync(join(target, databaseName));
  database.exec(`PRAGMA journal_mode = WAL; BEGIN; ${statements} COMMIT;`);
  database.close();
  await rm(join(target, `${databaseName}.sql`));
  await cp(options.assembly, join(target, 'assembly'), { recursive: true });
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

const iso = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const day = /(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g;
const milliseconds = /(?<![\w.-])\d{13}(?![\w.-])/g;
const ttl = /(?<="ttl":\{"N":")\d{10}(?=")/g;

/** In milliseconds. A 13-digit number farther from the freeze is not a time: leases and batches last days at most. */
const farthest = 45 * 86_400_000;

/** Moves all times of a frozen text by one constant: timestamps, days, and numbers of milliseconds or seconds. */
function shiftTimes(text: string, { frozenAt, by }: { frozenAt: number; by: number }): string {
  return text
    .replace(iso, (time) => new Date(Date.parse(time) + by).toISOString())
    .replace(day, (date) => new Date(Date.parse(date) + by).toISOString().slice(0, 10))
    .replace(milliseconds, (number) =>
      Math.abs(Number(number) - frozenAt) > farthest ? number : String(Number(number) + by),
    )
    .replace(ttl, (seconds) => String(Number(seconds) + Math.round(by / 1000)));
}
