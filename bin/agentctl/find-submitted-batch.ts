import { setTimeout as pause } from 'node:timers/promises';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { HttpClient } from './http-client.ts';
import type { Intent } from './submission-journal.ts';

const pageSize = 100;
const pauseSeconds = 2;

/**
 * Finds the batch of a portion after the response to the portion was lost: a newer batch with the same agent, number of
 * requests, first and last custom_id. The service creates a batch completely or not at all, and lists batches from the
 * newest to the oldest.
 * @param known ids of batches that belong to other portions of this submission
 */
export async function findSubmittedBatch(
  client: HttpClient,
  agentId: string,
  intent: Intent,
  known: ReadonlySet<string>,
): Promise<string | undefined> {
  for await (const batch of batchesSince(client, intent.newest)) {
    if (known.has(batch.id) || batch.total_requests !== intent.requests) continue;
    if (batch.agent_id.toLowerCase() !== agentId.toLowerCase()) continue;
    const [first, last] = await Promise.all(
      [0, intent.requests - 1].map((requestIndex) => customIdAt(client, batch.id, requestIndex)),
    );
    if (first === intent.firstId && last === intent.lastId) return batch.id;
  }
  return undefined;
}

/**
 * Polls until the batch is found, or until it can no longer appear.
 * @param until epoch milliseconds
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

/** The id of the newest batch of the workspace. */
export async function newestBatch(client: HttpClient): Promise<string | null> {
  const { data } = await client.sendRequest<BatchResource[]>('/batches?limit=1');
  return data[0]?.id ?? null;
}

async function* batchesSince(client: HttpClient, newest: string | null): AsyncGenerator<BatchResource> {
  for (let offset = 0; ; offset += pageSize) {
    const { data, pagination } = await client.sendRequest<BatchResource[]>(
      `/batches?limit=${pageSize}&offset=${offset}`,
    );
    for (const batch of data) {
      if (batch.id === newest) return;
      yield batch;
    }
    if (!pagination?.next_page) return;
  }
}

async function customIdAt(
  client: HttpClient,
  batchId: string,
  requestIndex: number,
): Promise<string | undefined> {
  const { data } = await client.sendRequest<BatchResultResource[]>(
    `/batches/${batchId}/results?limit=1&offset=${requestIndex}`,
  );
  return data[0]?.custom_id;
}
