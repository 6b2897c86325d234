import { createHash, type Hash } from 'node:crypto';
import { describeIssues } from '#contract/describe-issues.ts';
import { createBatchBody } from '#contract/routes/batches.ts';
import type { BatchRequestItem } from '#lib/client/index.ts';
import type { Describe, OnMistake } from './input-mistakes.ts';
import { type CsvColumns, readCsv } from './read-csv.ts';
import { type Line, readLines } from './read-lines.ts';

export interface Input {
  file: string;
  columns: CsvColumns;
}

export interface InputRecord {
  /** The line on which it starts, from 1. */
  line: number;
  request: BatchRequestItem;
  /** Hashed to find a changed row. */
  content: Buffer | string;
  /** Bytes of the request as JSON within a JSON string, as in the payload of the function. */
  bytes: number;
  describe: Describe;
}

/**
 * A payload of a function has at most 6 MB and contains the body as a JSON string. 64 KiB are left for the rest, such
 * as headers.
 */
export const portionBytes = 6 * 1024 * 1024 - 64 * 1024;

const requestSchema = createBatchBody.shape.requests.element;

export const isCsv = (file: string): boolean => /\.(csv|tsv)$/i.test(file);

export const delimiterFor = (file: string): string => (/\.tsv$/i.test(file) ? '\t' : ',');

/**
 * CSV if the file's name ends in `.csv` or `.tsv`, else one JSON object per line. A request without a custom_id gets
 * `line-<number>`.
 * @param onMistake gets each mistake, and may throw; rows with mistakes are left out
 * @throws Error if the file cannot be read or parsed any further
 */
export async function* readRecords(input: Input, onMistake: OnMistake): AsyncGenerator<InputRecord> {
  const unchecked = isCsv(input.file) ? readCsvFile(input, onMistake) : readJsonLines(input.file, onMistake);
  for await (const read of unchecked) {
    const checked = requestSchema.safeParse(read.request, { reportInput: true });
    const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify(read.request)));
    const issues = checked.success ? (bytes > portionBytes ? [tooLarge] : []) : checked.error.issues;
    if (issues.length > 0) read.describe(issues).forEach(onMistake);
    else yield { ...read, request: read.request as BatchRequestItem, bytes };
  }
}

const tooLarge = { code: 'custom' as const, path: [], message: 'is larger than a batch may be', input: null };

type Unchecked = Pick<InputRecord, 'line' | 'content' | 'describe'> & { request: unknown };

export const hashOfRecords = (): Hash => createHash('sha256');
export const addToHash = (hash: Hash, { content }: InputRecord): Hash => hash.update(content).update('\n');

async function* readCsvFile({ file, columns }: Input, onMistake: OnMistake): AsyncGenerator<Unchecked> {
  for await (const { line, fields, describe } of readCsv(file, columns, onMistake)) {
    const request = { custom_id: `line-${line}`, ...fields };
    yield { line, request, content: JSON.stringify(request), describe };
  }
}

async function* readJsonLines(file: string, onMistake: OnMistake): AsyncGenerator<Unchecked> {
  for await (const line of readLines(file, portionBytes)) {
    if (isBlank(line)) continue;
    const { number, bytes } = line;
    const describe: Describe = (issues) => [`${file} line ${number}: ${describeIssues(issues, 'it')}`];
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch (error) {
      // The parser sees one line only, so its own number of the line is left out.
      const reason = (error as Error).message.replace(/\(line 1 (column \d+)\)/, '($1)');
      onMistake(`${file} line ${number} is not valid JSON: ${reason}`);
      continue;
    }
    const request: unknown = isObject(value) ? { custom_id: `line-${number}`, ...value } : value;
    yield { line: number, request, content: bytes, describe };
  }
}

const isBlank = ({ bytes }: Line): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
