import { keyHeader } from './chats.ts';
import { listPages } from './page.ts';
import type { Batch, BatchResult, CreateBatchRequest } from './schema.ts';
import type { Call, RequestOptions, Transport } from './transport.ts';

/** For calls that cancel batches of `submitAndWait`, or learn their ids: it waits for them before it throws. */
const lastAttempt = { maxRetries: 1, timeout: 10_000, waitForRateLimit: false };

/** The calls of `submitAndWait`, which has set the user of each request. */
export const patientCalls = (
  transport: Transport,
  cancel: (batchId: string, options: RequestOptions) => Promise<Batch>,
) => ({
  create(part: CreateBatchRequest, key: string, signal?: AbortSignal) {
    const call = { ...creation(part, key), isPatient: signal !== undefined };
    return transport.request(call, { ...(signal ? { signal } : lastAttempt), throwsRateLimit: true });
  },
  get: (batchId: string, signal?: AbortSignal) =>
    transport.request<Batch>({ method: 'GET', path: pathOf(batchId), isPatient: true }, { signal }),
  results: (batchId: string, signal?: AbortSignal) =>
    listPages<BatchResult>(
      transport,
      `${pathOf(batchId)}/results`,
      { limit: 100 },
      { signal },
      { isPatient: true },
    ),
  cancel: (batchId: string) => cancel(batchId, lastAttempt),
  delay: transport.delay,
});

export type PatientCalls = ReturnType<typeof patientCalls>;

export const creation = (body: CreateBatchRequest, key?: string): Call<Batch> => ({
  method: 'POST',
  path: '/batches',
  body,
  headers: keyHeader(key),
});

export const pathOf = (batchId: string): string => `/batches/${encodeURIComponent(batchId)}`;
