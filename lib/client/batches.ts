import { creation, pathOf, patientCalls } from './batch-calls.ts';
import { type KeyedOptions, type OfUser, withUser } from './chats.ts';
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
import type { ApiPromise, RequestOptions, Transport } from './transport.ts';

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
    const requests = params.requests.map((each) => withUser(this.#user, each));
    return this.#transport.request(creation({ ...params, requests }, idempotencyKey), options);
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
    const requests = params.requests.map((each) => withUser(this.#user, each));
    const calls = patientCalls(this.#transport, (batchId, patience) => this.cancel(batchId, patience));
    return submitAndWait(calls, { ...params, requests }, options);
  }
}
