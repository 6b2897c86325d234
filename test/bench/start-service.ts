import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { startProgram } from '#support/command.ts';
import { dataTableOf } from '#support/data-table.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { type Connection, readConnection } from '../../bin/local/connection.ts';
import type { MemoryPart } from '../../bin/local/memory-by-part.ts';
import { externalUserId } from './load-client.ts';
import { type Server, secondsToResponse, seededPages } from './server.ts';

const pollMilliseconds = 20;
/** Busy threads report their memory late. */
const memorySeconds = 30;

/** Starts what `npm start` runs, without npm, in its own process and with its own data folder. */
export async function startService(folder: string, model: string): Promise<Server> {
  const data = join(folder, 'data');
  const from = performance.now();
  const program = join(import.meta.dirname, '../../bin/local.js');
  const { child, printed, ended } = startProgram(
    // As the script `start` in package.json.
    [process.execPath, '--max-semi-space-size=8', program, '--port', '0', '--data', data],
    { OPENAI_BASE_URL: model, OPENAI_API_KEY: 'bench' },
  );
  const pid = child.pid ?? 0;
  const close = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  try {
    await printed('Ready');
    const connection = await readConnection(data);
    if (connection === undefined) throw new Error(`There is no connection file in ${data}`);
    const { base_url: baseUrl, api_key: apiKey, agent_id: agentId } = connection;
    const target = { baseUrl, apiKey, agentId };
    const startSeconds = await secondsToResponse(target, from);
    await useScriptedModel(connection);
    return {
      ...{ pid, target, startSeconds, close, servesCompletions: true },
      seedPages: () => seedPages(connection),
      memoryByPart: () => memoryByPart(pid, join(data, 'memory.json')),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const tableOf = ({ data_table, dynamodb_endpoint: dynamodb }: Connection) =>
  dataTableOf({ run: { outputs: { DataTableName: data_table }, endpoints: { dynamodb } } });

/** Must run before the demo agent's first message: processes read an agent once. */
async function useScriptedModel(connection: Connection): Promise<void> {
  const table = tableOf(connection);
  const { workspace_id: workspaceId, agent_id: agentId } = connection;
  await table.change(keys.agentVersion(workspaceId, agentId, 1), {
    'definition.llm_model': 'openai:scripted',
  });
  table.close();
}

async function seedPages(connection: Connection): Promise<void> {
  const { workspace_id: workspaceId, agent_id: agentId } = connection;
  const { total, offsets, length } = seededPages;
  const messages = offsets.flatMap((offset) => [
    ...messageItems({
      ...{ workspaceId, chatId: total, first: offset + 1, count: length },
      content: (position) => `Message ${position}`,
    }),
  ]);
  const chats = chatItems({
    ...{ workspaceId, agentId, externalUserId, count: total },
    messageCounts: { [total]: total },
    near: offsets.map((offset) => total - offset),
  });
  const table = tableOf(connection);
  await table.writeItems([...chats, ...messages]);
  table.close();
}

async function memoryByPart(pid: number, file: string): Promise<MemoryPart[]> {
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (const end = performance.now() + memorySeconds * 1000; performance.now() < end; ) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) return JSON.parse(text) as MemoryPart[];
    await after(pollMilliseconds);
  }
  throw new Error(`The service has not reported its memory after ${memorySeconds} s`);
}
