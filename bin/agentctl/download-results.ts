import type { FileHandle } from 'node:fs/promises';
import { JSONParser } from '@streamparser/json';
import type { BatchResource, BatchResultResource } from '#contract/batch.ts';
import type { BatchResultStatus } from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { Pagination } from '#contract/pagination-object.ts';
import { reasonOf } from '#local/data/reason-of.ts';
import { type HttpClient, incompleteResponse } from './http-client.ts';
import { writeWhole } from './partial-file.ts';
import { hasEnded } from './watch-batches.ts';

export interface DownloadOptions {
  out: string;
  status: BatchResultStatus | undefined;
  /** Called with the number of results so far. */
  onProgress: (results: number) => void;
}

/**
 * Writes the results of batches to a file, one JSON object per line, and renames the complete file into place.
 * @returns the number of results of each batch
 * @throws Error if a result is missing or the file cannot be written
 */
export async function downloadResults(
  client: HttpClient,
  batches: readonly BatchResource[],
  { out, status, onProgress }: DownloadOptions,
): Promise<number[]> {
  return writeWhole(out, async (file) => {
    const writer = new ResultWriter(file);
    const counts: number[] = [];
    for (const batch of batches)
      counts.push(await downloadBatch(client, writer, { batch, status, onProgress }));
    return counts;
  });
}

interface BatchDownload extends Pick<DownloadOptions, 'status' | 'onProgress'> {
  batch: BatchResource;
}

async function downloadBatch(
  client: HttpClient,
  writer: ResultWriter,
  { batch, status, onProgress }: BatchDownload,
): Promise<number> {
  let offset = 0;
  for (;;) {
    const query = new URLSearchParams({
      limit: String(limits.pageSizeMax),
      offset: String(offset),
      ...(status !== undefined && { status }),
    });
    const path = `/batches/${encodeURIComponent(batch.id)}/results?${query}`;
    const start = writer.position();
    const page = await client.withRetries(async () => {
      // Removes the results of the interrupted page from the file, and reads the page again.
      await writer.truncateTo(start);
      return readPage(await client.open(path), writer, onProgress);
    });
    offset += page.results;
    if (page.pagination.next_page === null) {
      if (hasEnded(batch) && offset !== page.pagination.total_records)
        throw new Error(`${batch.id}: only ${offset} results came of ${page.pagination.total_records}`);
      return offset;
    }
    if (page.results === 0)
      throw new Error(`${batch.id}: the service sent a page without results, but also a next page`);
  }
}

/** Parses a page as a stream, one result at a time: a reply may have 1 MB. */
async function readPage(
  response: Response,
  writer: ResultWriter,
  onProgress: (results: number) => void,
): Promise<{ results: number; pagination: Pagination }> {
  let pagination: Pagination | undefined;
  let results: BatchResultResource[] = [];
  let count = 0;
  const parser = new JSONParser({ paths: ['$.data.*', '$.pagination'], keepStack: false });
  parser.onValue = ({ key, value }) => {
    if (key === 'pagination') pagination = value as unknown as Pagination;
    else results.push(value as unknown as BatchResultResource);
  };
  try {
    for await (const chunk of response.body ?? []) {
      parser.write(chunk);
      count += results.length;
      await writer.write(results);
      results = [];
      onProgress(writer.results);
    }
    if (!parser.isEnded) parser.end();
  } catch (error) {
    if (error instanceof WriteFailure) throw error;
    throw incompleteResponse(error);
  }
  if (pagination === undefined) throw new Error('The service sent a page of results without its pagination');
  return { results: count, pagination };
}

/** A local failure, such as a full disk. A retry of the request does not help. */
class WriteFailure extends Error {}

interface Position {
  bytes: number;
  results: number;
}

class ResultWriter {
  readonly #file: FileHandle;
  #bytes = 0;
  results = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(results: readonly BatchResultResource[]): Promise<void> {
    if (results.length === 0) return;
    const text = Buffer.from(results.map((result) => `${JSON.stringify(result)}\n`).join(''));
    try {
      await this.#file.appendFile(text);
    } catch (error) {
      throw new WriteFailure(`The results cannot be written: ${reasonOf(error)}`);
    }
    this.#bytes += text.length;
    this.results += results.length;
  }

  position(): Position {
    return { bytes: this.#bytes, results: this.results };
  }

  async truncateTo({ bytes, results }: Position): Promise<void> {
    if (bytes === this.#bytes) return;
    await this.#file.truncate(bytes);
    this.#bytes = bytes;
    this.results = results;
  }
}
