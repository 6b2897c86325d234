import { expect } from 'vitest';
import type { BatchResource, BatchResultResource, ModelCallResource } from '#contract/batch.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { Client } from './client.ts';
import { dataOf } from './open-tenant.ts';
import type { Tenant } from './service.ts';
import { historyOf } from './turns.ts';

export type RequestFields = Record<string, unknown>;

type NewRequest = RequestFields & { custom_id: string; message: string };

/** Requests with the custom ids `id-0`, `id-1` … and different messages. */
export const requestsOf = (
  count: number,
  fields: (index: number) => RequestFields = () => ({}),
): NewRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    custom_id: `id-${index}`,
    message: `Message ${index}`,
    ...fields(index),
  }));

/** @throws Error with the response if the batch is rejected */
export const submit = async (
  client: Client,
  { agentId }: Pick<Tenant, 'agentId'>,
  requests: RequestFields[],
  fields: RequestFields = {},
): Promise<BatchResource> =>
  dataOf(await client.post<BatchResource>('/batches', { agent_id: agentId, requests, ...fields }));

export const batchAt = async (client: Client, id: string): Promise<BatchResource> =>
  dataOf(await client.get<BatchResource>(`/batches/${id}`));

/** Polls a batch until `is` returns true. Fails if its counters ever exceed its total. */
export async function waitForBatch(
  client: Client,
  id: string,
  is: (batch: BatchResource) => boolean,
  seconds = 60,
): Promise<BatchResource> {
  const end = performance.now() + seconds * 1000;
  for (let wait = 50; ; wait = Math.min(wait * 1.5, 1000)) {
    const batch = await batchAt(client, id);
    expect(batch.completed_requests + batch.failed_requests).toBeLessThanOrEqual(batch.total_requests);
    if (is(batch)) return batch;
    if (performance.now() > end)
      throw new Error(`After ${seconds} s the batch is still ${JSON.stringify(batch)}`);
    // Each poll reads the items of all requests, and takes time from the batch itself.
    await new Promise((resolve) => setTimeout(resolve, batch.total_requests > 100 ? 1000 : wait));
  }
}

const hasEnded = ({ status }: BatchResource): boolean => !['in_progress', 'cancelling'].includes(status);

/** Waits until a batch has ended, and checks that its counters then add up to its total. */
export async function waitForBatchEnd(client: Client, id: string, seconds?: number): Promise<BatchResource> {
  const batch = await waitForBatch(client, id, hasEnded, seconds);
  expect(batch.completed_requests + batch.failed_requests).toBe(batch.total_requests);
  return batch;
}

/** Submits a batch, and waits until it has ended. */
export const runBatch = async (
  client: Client,
  tenant: Pick<Tenant, 'agentId'>,
  requests: RequestFields[],
  seconds?: number,
): Promise<BatchResource> => waitForBatchEnd(client, (await submit(client, tenant, requests)).id, seconds);

export const resultsOf = async (client: Client, id: string, query = ''): Promise<BatchResultResource[]> =>
  dataOf(await client.get<BatchResultResource[]>(`/batches/${id}/results?limit=1000${query}`));

/** Submits a batch, waits until it has ended, and returns its results. */
export async function resultsOfBatch(
  client: Client,
  tenant: Pick<Tenant, 'agentId'>,
  requests: RequestFields[],
  fields?: RequestFields,
): Promise<BatchResultResource[]> {
  const { id } = await submit(client, tenant, requests, fields);
  await waitForBatchEnd(client, id);
  return resultsOf(client, id);
}

/** The number of results with each status. A failed status is followed by its error code. */
export function tally(results: readonly BatchResultResource[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, error_code } of results) {
    const name = error_code === null ? status : `${status} ${error_code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/**
 * Checks a batch that has ended against its results: they are in the order of the requests, final and complete, and the
 * counters equal them. `checkChats` checks the chats.
 */
export async function checkEnded(
  client: Client,
  batch: BatchResource,
  requests: readonly RequestFields[],
): Promise<BatchResultResource[]> {
  const results = await resultsOf(client, batch.id);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  const successes = results.filter(({ status }) => status === 'success');
  const failures = results.filter(({ status }) => status === 'failed');
  expect(successes.length + failures.length).toBe(results.length);
  expect([batch.completed_requests, batch.failed_requests]).toEqual([successes.length, failures.length]);
  for (const result of successes) {
    expect(result).toMatchObject({
      error_code: null,
      error_message: null,
      history_id: result.conversation_id,
    });
    expect(typeof result.response_content).toBe('string');
    expectUsageToAddUp(result);
    expect(result.processed_at).not.toBeNull();
  }
  for (const result of failures) {
    expect(result).toMatchObject({ response_content: null, response_usage: null, message_id: null });
    expect(result.error_code).not.toBeNull();
    expect(result.error_message).not.toBeNull();
    expect(result.processed_at).not.toBeNull();
  }
  return results;
}

/** Checks that `response_usage` has a row for every model call. */
export function expectUsageToAddUp({ response_usage: usage }: BatchResultResource): void {
  if (usage === null) throw new Error('A success has no usage');
  const calls = [...usage.tool_calls, ...(usage.main_response === null ? [] : [usage.main_response])];
  const sum = (field: keyof ModelCallResource & `${string}tokens`) =>
    calls.reduce((total, call) => total + call[field], 0);
  expect(usage).toMatchObject({
    total_calls: calls.length,
    total_tokens: sum('total_tokens'),
    total_prompt_tokens: sum('prompt_tokens'),
    total_completion_tokens: sum('completion_tokens'),
    cached_prompt_tokens: sum('cached_prompt_tokens'),
  });
}

/** Checks a workspace whose chats all belong to one batch: each chat has its request's message and the reply, once. */
export async function checkChats(
  client: Pick<Client, 'get'>,
  requests: readonly RequestFields[],
  results: readonly BatchResultResource[],
): Promise<void> {
  const { body } = await client.get<ChatResource[]>('/chats?limit=1000');
  const chats = results.flatMap(({ history_id }) => history_id ?? []);
  expect(new Set(chats).size).toBe(chats.length);
  expect(body.pagination?.total_records).toBe(chats.length);
  expect(body.data.map(({ id }) => id).toSorted(ascending)).toEqual(chats.toSorted(ascending));
  for (const [index, { status, history_id, message_id, response_content }] of results.entries()) {
    if (history_id === null || status !== 'success') continue;
    const history = await historyOf(client, history_id);
    expect(history.map(({ content }) => content)).toEqual([requests[index]?.message, response_content]);
    expect(history[1]?.id).toBe(message_id);
  }
}

const ascending = (one: number, other: number): number => one - other;
