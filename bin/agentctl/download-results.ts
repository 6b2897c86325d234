import type { FileHandle } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { JSONParser } from '@streamparser/json';
import type { BatchResultStatus } from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { Batch, BatchResult, ChatBatchClient, Pagination } from '#lib/client/index.ts';
import { reasonOf } from '#local/data/reason-of.ts';
import { writeWhole } from './partial-file.ts';
import { hasEnded } from './watch-batches.ts';

export interface DownloadOptions {
  out: string;
  status: BatchResultStatus | undefined;
  /** Gets a line for each page whose connection was lost. */
  log: (line: string) => void;
  /** Called with the number of results so far. */
  onProgress: (results: number) => void;
}

/**
 * Writes the results of batches to a file, one JSON object per line, and renames the complete file into place.
 * @returns the number of results of each batch
 * @throws Error if a result is missing or the file cannot be written
 */
export async function downloadResults(
  client: ChatBatchClient,
  batches: readonly Batch[],
  options: DownloadOptions,
): Promise<number[]> {
  return writeWhole(options.out, async (file) => {
    const writer = new ResultWriter(file, options.onProgress);
    const counts: number[] = [];
    for (const batch of batches) counts.push(await downloadBatch(client, writer, batch, options));
    return counts;
  });
}

/** Pages in a row without a result. If their connections were lost, the pauses between them take 31 s in all. */
const fruitlessPages = 6;

async function downloadBatch(
  client: ChatBatchClient,
  writer: ResultWriter,
  batch: Batch,
  { status, log }: Pick<DownloadOptions, 'status' | 'log'>,
): Promise<number> {
  const start = writer.results;
  let fruitless = 0;
  for (;;) {
    const offset = writer.results - start;
    const query = { limit: limits.pageSizeMax, offset, ...(status !== undefined && { status }) };
    const page = await readPage(await client.batches.openResults(batch.id, query), writer);
    const count = writer.results - start;
    fruitless = count > offset ? 0 : fruitless + 1;
    if (page?.next_page === null) return checkComplete(batch, count, page);
    if (fruitless === fruitlessPages)
      throw new Error(`${batch.id}: no results came after the first ${count}`);
    if (page !== undefined) continue;
    log(`The connection was lost; continuing after ${count} results`);
    await pause(1000 * 2 ** Math.max(0, fruitless - 1));
  }
}

function checkComplete(batch: Batch, count: number, { total_records }: Pagination): number {
  if (hasEnded(batch) && count !== total_records)
    throw new Error(`${batch.id}: only ${count} results came of ${total_records}`);
  return count;
}

/**
 * Parses a page as a stream, one result at a time: a reply may have 1 MB.
 * @returns undefined if the page ends early; the results before that are written
 */
async function readPage(response: Response, writer: ResultWriter): Promise<Pagination | undefined> {
  let pagination: Pagination | undefined;
  let results: BatchResult[] = [];
  const parser = new JSONParser({ paths: ['$.data.*', '$.pagination'], keepStack: false });
  parser.onValue = ({ key, value }) => {
    if (key === 'pagination') pagination = value as unknown as Pagination;
    else results.push(value as unknown as BatchResult);
  };
  try {
    for await (const chunk of response.body ?? []) {
      parser.write(chunk);
      await writer.write(results);
      results = [];
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    if (error instanceof WriteFailure) throw error;
    return undefined;
  }
  if (pagination === undefined) throw new Error('The service sent a page of results without its pagination');
  return pagination;
}

/** A local failure, such as a full disk. A retry of the request does not help. */
class WriteFailure extends Error {}

class ResultWriter {
  readonly #file: FileHandle;
  readonly #onProgress: (results: number) => void;
  results = 0;

  constructor(file: FileHandle, onProgress: (results: number) => void) {
    this.#file = file;
    this.#onProgress = onProgress;
  }

  async write(results: readonly BatchResult[]): Promise<void> {
    if (results.length === 0) return;
    const text = results.map((result) => `${JSON.stringify(result)}\n`).join('');
    await this.#file.appendFile(text).catch((error: unknown) => {
      throw new WriteFailure(`The results cannot be written: ${reasonOf(error)}`);
    });
    this.results += results.length;
    this.#onProgress(this.results);
  }
}
