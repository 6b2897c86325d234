import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../../../bin/local/connection.ts';
import { processesNaming, startCommand } from '../command.ts';
import { startScriptedModel } from '../scripted-model.ts';
import { startWebhookReceiver, status } from '../webhook-receiver.ts';
import { databaseName as database, databaseText } from './database-text.ts';
import { type FolderContent, fillFolder, respondByMessage } from './folder-scenario.ts';

/** A data folder as `npm start` left it when it was killed. */
export interface FrozenFolder extends FolderContent {
  /** When the service was killed, in epoch milliseconds. */
  frozenAt: number;
  /** The address of the webhook's receiver. */
  receiver: string;
  connection: Connection;
}

/** What every start creates anew, and the files of the database, which is stored as text instead. */
const leftOut = new Set(['assembly', 'compile-cache', database, `${database}-shm`, `${database}-wal`]);

/** Runs `npm start`, fills its data folder through the service's routes, kills the service, and copies the folder. */
export async function freezeDataFolder(target: string): Promise<FrozenFolder> {
  const work = await mkdtemp(join(tmpdir(), 'frozen-folder-'));
  const data = join(work, 'data');
  const [model, receiver] = await Promise.all([startScriptedModel(), startWebhookReceiver(status(500))]);
  model.onCall = respondByMessage;
  // So few requests are enough that some were never started.
  const settings = ['--set', 'requestsPerWorker=10'];
  const command = startCommand(['--port', '0', '--data', data, ...settings], { OPENAI_BASE_URL: model.url });
  try {
    await command.printed('Ctrl-C ends it.');
    const connection = JSON.parse(await readFile(join(data, 'connection.json'), 'utf8')) as Connection;
    const content = await fillFolder(connection, receiver);
    command.child.kill('SIGKILL');
    await command.ended;
    const frozenAt = Date.now();
    // The DynamoDB emulator ends shortly after the service.
    while ((await processesNaming(data)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await copyFolder(data, target);
    return { frozenAt, receiver: receiver.url, connection, ...content };
  } finally {
    command.child.kill('SIGKILL');
    await Promise.all([model.close(), receiver.close()]);
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function copyFolder(data: string, target: string): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await cp(data, target, {
    recursive: true,
    filter: (source) => source === data || !leftOut.has(source.slice(data.length + 1)),
  });
  await writeFile(join(target, `${database}.sql`), databaseText(join(data, database)));
}
