import { createHash } from 'node:crypto';
import { describeIssues } from '#contract/describe-issues.ts';
import { limits } from '#contract/limits.ts';
import { createBatchBody } from '#contract/routes/create-batch.ts';
import type { BatchRequestItem } from '#lib/client/index.ts';
import { type Line, readLines } from './read-lines.ts';

/** Lines of a file that are submitted as one batch. */
export interface Portion extends Range {
  requests: BatchRequestItem[];
  /** The line number of each request. */
  lines: number[];
  firstId: string;
  lastId: string;
  /** Offsets in the file, in bytes. */
  start: number;
  end: number;
}

/** A range of lines of a file. The hash shows whether the lines have changed since. */
export interface Range {
  fromLine: number;
  toLine: number;
  /** Hash of the lines that are not blank. */
  sha256: string;
}

/**
 * The maximum size of a portion. The payload of a function has at most 6 MB and contains the body as a JSON string with
 * escaped quotes. 64 KiB are for the rest of the payload: agent, webhook, headers (at most 10 KB) and the request's
 * context.
 */
export const portionBytes = 6 * 1024 * 1024 - 64 * 1024;

const requestSchema = createBatchBody.shape.requests.element;

/**
 * Divides a file of requests into portions that fit into a batch. It reads the file only as far as the current portion.
 * @param submitted ranges at the start of the file that have already become batches; they are checked and skipped
 * @throws Error that names a line that is wrong, or lines that have changed since they were submitted
 */
export async function* readPortions(file: string, submitted: readonly Range[]): AsyncGenerator<Portion> {
  const lines = readLines(file, portionBytes);
  for (const range of submitted) await skip(file, lines, range);
  let portion = new OpenPortion();
  for await (const line of lines) {
    if (isBlank(line)) continue;
    const request = readRequest(file, line);
    if (!portion.hasRoomFor(request)) {
      yield portion.close();
      portion = new OpenPortion();
    }
    portion.add(file, line, request);
  }
  if (!portion.isEmpty) yield portion.close();
}

async function skip(file: string, lines: AsyncGenerator<Line>, range: Range): Promise<void> {
  const hash = createHash('sha256');
  for (;;) {
    const { value: line, done } = await lines.next();
    if (done === true) break;
    if (!isBlank(line)) addTo(hash, line);
    if (line.number === range.toLine) break;
  }
  if (hash.digest('hex') !== range.sha256)
    throw new Error(
      `${file}: lines ${range.fromLine} to ${range.toLine} have changed since they were submitted; ` +
        'undo the change, or submit the whole file again with --again',
    );
}

interface ReadRequest {
  request: BatchRequestItem;
  /** The size of the request in the payload of the function. */
  bytes: number;
}

function readRequest(file: string, { number, bytes }: Line): ReadRequest {
  const location = `${file} line ${number}`;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // The parser sees one line only, so its own number of the line is always 1.
    const reason = (error as Error).message.replace(/\(line 1 (column \d+)\)/, '($1)');
    throw new Error(`${location} is not valid JSON: ${reason}`);
  }
  const request: unknown = isObject(value) ? { custom_id: `line-${number}`, ...value } : value;
  const checked = requestSchema.safeParse(request, { reportInput: true });
  if (!checked.success) throw new Error(`${location}: ${describeIssues(checked.error.issues, 'it')}`);
  const size = Buffer.byteLength(JSON.stringify(JSON.stringify(request)));
  if (size > portionBytes) throw new Error(`${location}: this request is larger than a batch may be`);
  return { request: request as BatchRequestItem, bytes: size };
}

class OpenPortion {
  readonly #hash = createHash('sha256');
  readonly #requests: BatchRequestItem[] = [];
  readonly #lineOf = new Map<string, number>();
  #bytes = 0;
  #start = 0;
  #end = 0;

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  hasRoomFor({ bytes }: ReadRequest): boolean {
    return this.#requests.length < limits.batchRequests && this.#bytes + bytes <= portionBytes;
  }

  add(file: string, line: Line, { request, bytes }: ReadRequest): void {
    const { custom_id } = request;
    const firstLine = this.#lineOf.get(custom_id);
    if (firstLine !== undefined)
      throw new Error(`${file} line ${line.number}: custom_id is the same as that of line ${firstLine}`);
    this.#lineOf.set(custom_id, line.number);
    addTo(this.#hash, line);
    if (this.isEmpty) this.#start = line.start;
    this.#requests.push(request);
    this.#bytes += bytes;
    this.#end = line.end;
  }

  close(): Portion {
    const ids = [...this.#lineOf];
    const [firstId, fromLine] = ids.at(0) ?? ['', 0];
    const [lastId, toLine] = ids.at(-1) ?? ['', 0];
    return {
      fromLine,
      toLine,
      firstId,
      lastId,
      requests: this.#requests,
      lines: [...this.#lineOf.values()],
      sha256: this.#hash.digest('hex'),
      start: this.#start,
      end: this.#end,
    };
  }
}

function addTo(hash: ReturnType<typeof createHash>, { bytes }: Line): void {
  hash.update(bytes).update('\n');
}

const isBlank = ({ bytes }: Line): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
