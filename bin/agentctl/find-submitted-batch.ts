import { setTimeout as pause } from 'node:timers/promises';
import type { ChatBatchClient } from '#lib/client/index.ts';
import type { Intent } from './submission-journal.ts';

const pageSize = 100;
const pauseSeconds = 2;

/**
 * Finds the batch that a portion has most likely become. The service lists the newest batch first.
 * @param known ids of batches that belong to other portions of this submission
 * @returns undefined if there is none
 */
export async function findSubmittedBatch(
  { batches }: ChatBatchClient,
  agentId: string,
  intent: Intent,
  known: ReadonlySet<string>,
): Promise<string | undefined> {
  const customIdAt = async (batchId: string, offset: number) =>
    (await batches.results(batchId, { limit: 1, offset })).data[0]?.custom_id;
  for await (const { id, agent_id, total_requests } of batches.list({ limit: pageSize })) {
    if (id === intent.newest) return undefined;
    if (known.has(id) || total_requests !== intent.requests) continue;
    if (agent_id.toLowerCase() !== agentId.toLowerCase()) continue;
    const [first, last] = await Promise.all([customIdAt(id, 0), customIdAt(id, intent.requests - 1)]);
    if (first === intent.firstId && last === intent.lastId) return id;
  }
  return undefined;
}

/** @param until when the batch can no longer appear, in epoch milliseconds */
export async function awaitSubmittedBatch(
  find: () => Promise<string | undefined>,
  until: number,
): Promise<string | undefined> {
  for (;;) {
    const isLast = Date.now() >= until;
    const found = await find();
    if (found !== undefined || isLast) return found;
    await pause(Math.min(pauseSeconds * 1000, Math.max(0, until - Date.now())));
  }
}

export async function newestBatch({ batches }: ChatBatchClient): Promise<string | null> {
  const { data } = await batches.list({ limit: 1 });
  return data[0]?.id ?? null;
}
