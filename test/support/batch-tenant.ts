import type { BatchResource } from '#contract/batch.ts';
import {
  checkChats,
  checkEnded,
  type RequestFields,
  resultsOf,
  runBatch,
  submit,
  tally,
  waitForBatch,
  waitForBatchEnd,
} from './batches.ts';
import { type OpenTenant, openTenant } from './open-tenant.ts';
import type { Service } from './service.ts';

type Requests = RequestFields[];

/** The calls of `batches.ts` as one tenant makes them. */
export const batchesOf = ({ client, agentId }: Pick<OpenTenant, 'client' | 'agentId'>) => ({
  submit: (requests: Requests, fields?: RequestFields) => submit(client, { agentId }, requests, fields),
  cancel: (id: string) => client.post<BatchResource>(`/batches/${id}/cancel`, undefined),
  run: (requests: Requests, seconds?: number) => runBatch(client, { agentId }, requests, seconds),
  until: (id: string, is: (batch: BatchResource) => boolean) => waitForBatch(client, id, is),
  end: (id: string, seconds?: number) => waitForBatchEnd(client, id, seconds),
  results: (id: string) => resultsOf(client, id),
  tally: async (id: string) => tally(await resultsOf(client, id)),
  checkEnded: (batch: BatchResource, requests: Requests) => checkEnded(client, batch, requests),
  /** `checkEnded` and `checkChats`. */
  async checkWhole(batch: BatchResource, requests: Requests) {
    const results = await checkEnded(client, batch, requests);
    await checkChats(client, requests, results);
    return results;
  },
});

/** A new tenant of the scripted model, with the calls of batches. */
export async function openBatchTenant(service: Service, options?: Parameters<typeof openTenant>[1]) {
  const tenant = await openTenant(service, { model: 'openai:test', ...options });
  return { ...tenant, ...batchesOf(tenant) };
}

export type BatchTenant = Awaited<ReturnType<typeof openBatchTenant>>;
