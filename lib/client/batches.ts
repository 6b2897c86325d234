import { type KeyedOptions, keyHeader, type OfUser, withUser } from './chats.ts';
import { ApiError } from './errors.ts';
import { listPages, type PagePromise } from './page.ts';
import type {
  Batch,
  BatchResult,
  CreateBatchRequest,
  ListBatchesQuery,
  ListBatchResultsQuery,
} from './schema.ts';
import {
  type SubmitOptions,
  type SubmitParams,
  type SubmittedBatches,
  submitAndWait,
} from './submit-and-wait.ts';
import type { ApiPromise, Call, RequestOptions, Transport } from './transport.ts';

/** For calls that cancel batches of `submitAndWait`, or learn their ids: it waits for them before it throws. */
const lastAttempt = { maxRetries: 1, timeout: 10_000, waitForRateLimit: false };

export class Batches {
  readonly #transport: Transport;
  readonly #user: OfUser;

  /** @internal */
  constructor(transport: Transport, user: OfUser) {
    this.#transport = transport;
    this.#user = user;
  }

  /**
   * Creates a batch of 1 to 1,000 requests. The whole body of the call, as a JSON string with escaped quotes, must have
   * less than 6 MB. `submitAndWait` takes more requests.
   */
  create(params: CreateBatchRequest, { idempotencyKey, ...options }: KeyedOptions = {}): ApiPromise<Batch> {
    return this.#transport.request(this.#creation(params, idempotencyKey), options);
  }

  /** Reads a batch with its counts. */
  get(batchId: string, options?: RequestOptions): ApiPromise<Batch> {
    return this.#transport.request({ method: 'GET', path: pathOf(batchId) }, options);
  }

  /** Lists the batches of the workspace, the newest first. */
  list(query: ListBatchesQuery = {}, options?: RequestOptions): PagePromise<Batch> {
    return listPages(this.#transport, '/batches', query, options);
  }

  /** Lists the results of a batch in the order of its requests, even while the batch is in progress. */
  results(
    batchId: string,
    query: ListBatchResultsQuery = {},
    options?: RequestOptions,
  ): PagePromise<BatchResult> {
    return listPages(this.#transport, `${pathOf(batchId)}/results`, query, options);
  }

  /** Opens one page of results, and leaves the body of the response to be read as a stream. */
  async openResults(
    batchId: string,
    query: ListBatchResultsQuery = {},
    options?: RequestOptions,
  ): Promise<Response> {
    const call = { method: 'GET' as const, path: `${pathOf(batchId)}/results`, query };
    const { response } = await this.#transport.open(call, options);
    return response;
  }

  /**
   * Cancels a batch. Requests in work are not interrupted.
   * @throws BadRequestError, for example if the batch is completed
   */
  cancel(batchId: string, options?: RequestOptions): ApiPromise<Batch> {
    return this.#transport.request<Batch>(
      {
        method: 'POST',
        path: `${pathOf(batchId)}/cancel`,
        recover: async (error) => {
          if (!(error instanceof ApiError) || error.status !== 400) return undefined;
          const batch = await this.get(batchId, options);
          return batch.status === 'cancelling' || batch.status === 'cancelled' ? batch : undefined;
        },
      },
      options,
    );
  }

  /**
   * Submits any number of requests as batches, waits until all have ended, and returns the results in the order of the
   * requests. Requests with the same `history_id` run in order only within one batch.
   * @throws ChatBatchError before anything is sent, for example if a `custom_id` is repeated; the signal's reason, or
   * what a callback has thrown; BatchSubmissionError if the creation or the reading of a batch has failed
   */
  submitAndWait(params: SubmitParams, options: SubmitOptions = {}): Promise<SubmittedBatches> {
    const transport = this.#transport;
    return submitAndWait(
      {
        create: (part, key, { signal, isLast = false }) => {
          const patience = isLast ? lastAttempt : {};
          const call = { ...this.#creation(part, key), isPatient: !isLast };
          return transport.request(call, { signal, ...patience, throwsRateLimit: true });
        },
        get: (batchId, signal) =>
          transport.request<Batch>({ method: 'GET', path: pathOf(batchId), isPatient: true }, { signal }),
        results: (batchId, signal) =>
          listPages<BatchResult>(
            transport,
            `${pathOf(batchId)}/results`,
            { limit: 100 },
            { signal },
            { isPatient: true },
          ),
        cancel: (batchId) => this.cancel(batchId, lastAttempt),
        delay: transport.delay,
      },
      { ...params, requests: params.requests.map((each) => withUser(this.#user, each)) },
      options,
    );
  }

  #creation(params: CreateBatchRequest, key?: string): Call<Batch> {
    return {
      method: 'POST',
      path: '/batches',
      body: { ...params, requests: params.requests.map((each) => withUser(this.#user, each)) },
      headers: keyHeader(key),
    };
  }
}

const pathOf = (batchId: string): string => `/batches/${encodeURIComponent(batchId)}`;
