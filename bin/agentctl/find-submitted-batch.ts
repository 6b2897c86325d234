import { setTimeout as pause } from 'node:timers/promises';
import type { ChatBatchClient } from '#lib/client/index.ts';
import type { Intent } from './submission-journal.ts';

const pageSize = 100;
const pauseSeconds = 2;

/**
 * Finds the batch of a portion after the response to the portion was lost: a batch that is newer than `intent.newest`
 * and has the same agent, number of requests, first and last custom_id. The service creates a batch completely or not
 * at all, and lists batches from the newest to the oldest.
 * @param known ids of batches that belong to other portions of this submission
 * @returns the id of the batch; undefined if there is none
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

/**
 * Polls until the batch is found, or until it can no longer appear.
 * @param until the time from which it can no longer appear, in epoch milliseconds
 * @returns the id of the batch; undefined if it was not found
 */
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

/** The id of the newest batch of the workspace; null if there is none. */
export async function newestBatch({ batches }: ChatBatchClient): Promise<string | null> {
  const { data } = await batches.list({ limit: 1 });
  return data[0]?.id ?? null;
}
