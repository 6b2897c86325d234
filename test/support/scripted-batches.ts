import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { envelope, type FrontRequest } from './front-server.ts';

interface CreatedBatch {
  resource: BatchResource;
  customIds: string[];
  key: string | string[] | undefined;
  body: string;
  /** The error messages of failed requests, by custom id, once the batch has ended. */
  failures?: Map<string, string>;
}

/**
 * Batches as the interface shows them, but without any work, so that submissions of thousands of requests cost nothing.
 */
export class ScriptedBatches {
  /** In the order of their creation. */
  readonly taken: CreatedBatch[] = [];
  /** If set, each new batch has ended at once: the error message of a request, or undefined if it has succeeded. */
  failureOf: ((customId: string) => string | undefined) | undefined;

  get customIds(): string[] {
    return this.taken.flatMap(({ customIds }) => customIds);
  }

  /** Creates one batch for each idempotency key; a request without a key creates a new one each time. */
  create({
    body,
    headers,
  }: Pick<FrontRequest, 'body'> & Partial<Pick<FrontRequest, 'headers'>>): BatchResource {
    const key = headers?.['idempotency-key'];
    const previous = this.taken.find((batch) => key !== undefined && batch.key === key);
    if (previous !== undefined) {
      expect(body).toBe(previous.body);
      return previous.resource;
    }
    const { agent_id, requests } = JSON.parse(body) as {
      agent_id: string;
      requests: { custom_id: string }[];
    };
    const now = Date.now();
    const resource: BatchResource = {
      id: crypto.randomUUID(),
      status: 'in_progress',
      agent_id,
      total_requests: requests.length,
      completed_requests: 0,
      failed_requests: 0,
      metadata: {},
      created_at: new Date(now).toISOString(),
      completed_at: null,
      cancelled_at: null,
      expires_at: new Date(now + 86_400_000).toISOString(),
    };
    const batch = { resource, customIds: requests.map(({ custom_id }) => custom_id), key, body };
    this.taken.push(batch);
    if (this.failureOf !== undefined) this.end(batch, this.failureOf);
    return resource;
  }

  end(batch: CreatedBatch, failureOf: (customId: string) => string | undefined): void {
    const failures = batch.customIds.flatMap((id): [string, string][] => {
      const message = failureOf(id);
      return message === undefined ? [] : [[id, message]];
    });
    batch.failures = new Map(failures);
    batch.resource.status = 'completed';
    batch.resource.failed_requests = failures.length;
    batch.resource.completed_requests = batch.customIds.length - failures.length;
  }

  serve(request: FrontRequest): void {
    if (isCreation(request)) request.respond(202, envelope(this.create(request)));
    else request.respond(...this.#read(new URL(request.path, 'http://front')));
  }

  /** Like `serve`, but the given function handles the requests for new batches. */
  serveWith(handle: HandleCreation): (request: FrontRequest) => Promise<void> {
    let creations = 0;
    return async (request) => {
      if (!isCreation(request)) return this.serve(request);
      creations += 1;
      await handle(request, creations);
    };
  }

  #read({ pathname, searchParams }: URL): [status: number, content: Record<string, unknown>] {
    const [, batchId, part] = pathname.slice(1).split('/');
    const batch = this.taken.find(({ resource }) => resource.id === batchId);
    if (batchId !== undefined && batch === undefined)
      return [404, { data: null, message: 'Batch not found', error_code: 10003 }];
    if (batch !== undefined && part === undefined) return [200, envelope(batch.resource)];
    const items: unknown[] =
      batch === undefined
        ? this.taken.map(({ resource }) => resource).reverse()
        : resultsOf(batch).filter(({ status }) => status === (searchParams.get('status') ?? status));
    const limit = Number(searchParams.get('limit') ?? 50);
    const offset = Number(searchParams.get('offset') ?? 0);
    const next_page =
      offset + limit < items.length ? `http://front/next?limit=${limit}&offset=${offset + limit}` : null;
    const pagination = { limit, offset, total_records: items.length, next_page };
    return [200, envelope(items.slice(offset, offset + limit), { pagination })];
  }
}

/** @param creation the number of the request, from 1 */
type HandleCreation = (request: FrontRequest, creation: number) => unknown;

export const isCreation = ({ method, path }: Pick<FrontRequest, 'method' | 'path'>): boolean =>
  method === 'POST' && path === '/batches';

function resultsOf({ customIds, failures }: CreatedBatch) {
  return customIds.map((custom_id) => {
    const error_message = failures?.get(custom_id) ?? null;
    const status = failures === undefined ? 'pending' : error_message === null ? 'success' : 'failed';
    const error_code = error_message === null ? null : 500;
    const response_content = status === 'success' ? `=Reply to ${custom_id}` : null;
    return { custom_id, status, response_content, error_code, error_message, history_id: 7, message_id: 8 };
  });
}
