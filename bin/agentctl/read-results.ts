import { setTimeout as pause } from 'node:timers/promises';
import { JSONParser } from '@streamparser/json';
import type { BatchResultStatus } from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { Batch, BatchResult, ChatBatchClient, Pagination } from '#lib/client/index.ts';
import { hasEnded } from './watch-batches.ts';

export interface ResultsOptions {
  status?: BatchResultStatus | undefined;
  log: (line: string) => void;
}

/** As many in a row are an error. If all their connections were lost, the pauses between them take 31 s in all. */
const fruitlessPages = 6;

/**
 * In the order of the requests. Pages are parsed as streams: a reply may have 1 MB.
 * @throws Error such as for missing results; the client's errors
 */
export async function* readResults(
  client: ChatBatchClient,
  batch: Batch,
  { status, log }: ResultsOptions,
): AsyncGenerator<BatchResult> {
  let count = 0;
  let fruitless = 0;
  for (;;) {
    const offset = count;
    const query = { limit: limits.pageSizeMax, offset, ...(status !== undefined && { status }) };
    const page: { pagination?: Pagination } = {};
    for await (const result of readPage(await client.batches.openResults(batch.id, query), page)) {
      count += 1;
      yield result;
    }
    const { pagination } = page;
    fruitless = count > offset ? 0 : fruitless + 1;
    if (pagination?.next_page === null) return checkComplete(batch, count, pagination);
    if (fruitless === fruitlessPages)
      throw new Error(`${batch.id}: no results came after the first ${count}`);
    if (pagination !== undefined) continue;
    log(`The connection was lost; continuing after ${count} results`);
    await pause(1000 * 2 ** Math.max(0, fruitless - 1));
  }
}

function checkComplete(batch: Batch, count: number, { total_records }: Pagination): void {
  if (hasEnded(batch) && count !== total_records)
    throw new Error(`${batch.id}: only ${count} results came of ${total_records}`);
}

/**
 * Ends where the connection was lost or the JSON is wrong.
 * @param page gets the pagination, unless the results end before it
 */
async function* readPage(response: Response, page: { pagination?: Pagination }): AsyncGenerator<BatchResult> {
  let results: BatchResult[] = [];
  const parser = new JSONParser({ paths: ['$.data.*', '$.pagination'], keepStack: false });
  parser.onValue = ({ key, value }) => {
    if (key === 'pagination') page.pagination = value as unknown as Pagination;
    else results.push(value as unknown as BatchResult);
  };
  const chunks = (response.body ?? new Blob([]).stream())[Symbol.asyncIterator]();
  try {
    for (let isDone = false; !isDone; ) {
      try {
        const chunk = await chunks.next();
        isDone = chunk.done === true;
        if (!chunk.done) parser.write(chunk.value);
        else if (!parser.isEnded) parser.end();
      } catch {
        return;
      }
      yield* results;
      results = [];
    }
  } finally {
    await chunks.return?.(undefined).catch(() => undefined);
  }
  if (page.pagination === undefined)
    throw new Error('The service sent a page of results without its pagination');
}
