import type { Hash } from 'node:crypto';
import { limits } from '#contract/limits.ts';
import type { BatchRequestItem } from '#lib/client/index.ts';
import { type OnMistake, throwMistake } from './input-mistakes.ts';
import {
  addToHash,
  hashOfRecords,
  type Input,
  type InputRecord,
  portionBytes,
  readRecords,
} from './input-records.ts';

export interface Portion extends Range {
  requests: BatchRequestItem[];
  lines: number[];
  firstId: string;
  lastId: string;
}

/** The lines on which the first and the last row start. */
export interface Range {
  fromLine: number;
  toLine: number;
  /** Of the rows that are submitted, to find out later whether they have changed. */
  sha256: string;
}

interface Selection {
  /** They are checked, and not returned. */
  submitted: readonly Range[];
  /** In ascending order; by default all. */
  lines?: readonly number[] | undefined;
  /** By default, the first mistake is thrown as an Error. */
  onMistake?: OnMistake | undefined;
}

/** @throws Error such as for lines that have changed since they were submitted; without `onMistake`, for any mistake */
export async function* readPortions(
  input: Input,
  { submitted, lines, onMistake = throwMistake }: Selection,
): AsyncGenerator<Portion> {
  const records = selectRecords(input, lines, onMistake);
  for (const range of submitted) await skip(input, records, range);
  let portion = new OpenPortion();
  for await (const record of records) {
    const isFull = !portion.hasRoomFor(record);
    const firstLine = isFull ? undefined : portion.lineOf(record.request);
    if (firstLine !== undefined && lines === undefined) {
      const message = `is the same as that of line ${firstLine}`;
      record.describe([{ code: 'custom', path: ['custom_id'], message, input: null }]).forEach(onMistake);
      continue;
    }
    // In a retry, failed requests of several batches may have the same custom_id. They go into different portions.
    if (isFull || firstLine !== undefined) {
      yield portion.close();
      portion = new OpenPortion();
    }
    portion.add(record);
  }
  if (!portion.isEmpty) yield portion.close();
}

export async function* selectRecords(
  input: Input,
  lines: readonly number[] | undefined,
  onMistake: OnMistake = throwMistake,
): AsyncGenerator<InputRecord> {
  let next = 0;
  for await (const record of readRecords(input, onMistake)) {
    if (lines !== undefined && record.line !== lines[next]) continue;
    next += 1;
    yield record;
    if (next === lines?.length) return;
  }
}

/**
 * Reads the rows of a range, which are next in `records`.
 * @throws Error, for example if they have changed
 */
export async function skip(
  { file }: Input,
  records: AsyncGenerator<InputRecord>,
  range: Range,
  onRecord: (record: InputRecord) => void = () => undefined,
): Promise<void> {
  const hash = hashOfRecords();
  for (;;) {
    const { value: record, done } = await records.next();
    if (done === true) break;
    addToHash(hash, record);
    onRecord(record);
    if (record.line === range.toLine) break;
  }
  if (hash.digest('hex') !== range.sha256)
    throw new Error(
      `${file}: lines ${range.fromLine} to ${range.toLine} have changed since they were submitted; ` +
        'undo the change, or submit the whole file again with --again',
    );
}

class OpenPortion {
  readonly #hash: Hash = hashOfRecords();
  readonly #requests: BatchRequestItem[] = [];
  readonly #lineOf = new Map<string, number>();
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  lineOf({ custom_id }: BatchRequestItem): number | undefined {
    return this.#lineOf.get(custom_id);
  }

  hasRoomFor({ bytes }: InputRecord): boolean {
    return this.#requests.length < limits.batchRequests && this.#bytes + bytes <= portionBytes;
  }

  add(record: InputRecord): void {
    this.#lineOf.set(record.request.custom_id, record.line);
    addToHash(this.#hash, record);
    this.#requests.push(record.request);
    this.#bytes += record.bytes;
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
    };
  }
}
