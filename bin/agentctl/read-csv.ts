import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { CsvError, type InfoRecord, type Options, parse } from 'csv-parse';
import { parse as parseSync } from 'csv-parse/sync';
import * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { createBatchBody } from '#contract/routes/batches.ts';
import type { Describe, OnMistake } from './input-mistakes.ts';

export const requestFields = Object.keys(createBatchBody.shape.requests.element.shape);

export const csvColumns = z.object({
  /** By field: the name of its column, which the file must have. Other fields have columns of their own names. */
  names: z.record(z.string(), z.string()),
  ignoreOthers: z.boolean(),
});
export type CsvColumns = z.infer<typeof csvColumns>;

interface Column {
  /** From 1. */
  number: number;
  name: string;
  field: string | undefined;
}

const options = {
  // Cells are not decoded by the parser but below, so that a wrong byte is found.
  encoding: null,
  // By default, the parser would take the line break after the first row as the end of every row.
  record_delimiter: ['\r\n', '\n', '\r'],
  // `readCsv` reports rows that are longer or shorter than the header.
  relax_column_count: true,
  skip_empty_lines: true,
};

/**
 * Bytes. Without a limit, a quotation mark that is never closed could fill the memory. The parser applies
 * `max_record_size` to each cell, because cells are not decoded.
 */
const cellBytes = 8 * 1024 * 1024;

/**
 * RFC 4180 with a header. The delimiter is the comma, semicolon or tab, whichever gives the first row the most cells.
 * An empty cell is a field that is not given.
 * @param onMistake gets a mistake for a row of another length than the header; such rows are left out
 * @throws Error such as for a cell that is too large, or a wrong header, quotation mark or encoding
 */
export async function* readCsv(file: string, mapping: CsvColumns, onMistake: OnMistake) {
  const { delimiter, start } = await formOf(file);
  let columns: Column[] | undefined;
  for await (const { line, cells } of readCells(file, delimiter, start)) {
    const texts = decode(`${file} line ${line}`, cells, columns);
    if (texts.every((text) => text.trim() === '')) continue;
    if (columns === undefined) {
      columns = readHeader(`${file} line ${line}`, texts, mapping);
      continue;
    }
    const describe = describeCells(`${file} line ${line}`, columns);
    if (texts.length === columns.length) yield { line, fields: fieldsOf(columns, texts), describe };
    else onMistake(describeLength(`${file} line ${line}`, columns, texts.length));
  }
  if (columns === undefined) throw new Error(`${file} line 1: there is no header`);
}

/** The parser's own line number counts CRLF inside of a cell twice, so lines are counted here. */
async function* readCells(file: string, delimiter: string, start: number) {
  let line = 1;
  let emptyLines = 0;
  const startOf = (emptyNow: number) => {
    line += emptyNow - emptyLines;
    emptyLines = emptyNow;
    return line;
  };
  const onCells = (cells: Buffer[], { empty_lines }: InfoRecord) => {
    const start = startOf(empty_lines);
    line += 1 + cells.reduce((sum, cell) => sum + lineBreaksIn(cell), 0);
    return { line: start, cells };
  };
  const parser = parse({
    ...options,
    delimiter,
    max_record_size: cellBytes,
    // The types do not know that cells are buffers without an encoding.
    on_record: onCells as unknown as NonNullable<Options['on_record']>,
  });
  const source = createReadStream(file, { start });
  source.once('error', (error) => parser.destroy(error)).pipe(parser);
  try {
    yield* parser as AsyncIterable<ReturnType<typeof onCells>>;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { code, column, empty_lines } = error as CsvError & { column: number; empty_lines: number };
    const problem = problems[code] ?? error.message;
    throw new Error(`${file} line ${startOf(empty_lines)}, column ${column + 1}: ${problem}`);
  } finally {
    source.destroy();
  }
}

const problems: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'text follows the closing quotation mark; a quotation mark inside of a quoted cell is written twice',
  INVALID_OPENING_QUOTE:
    'a quotation mark is inside of a cell that is not quoted; quote the cell and write the mark twice',
  CSV_QUOTE_NOT_CLOSED: 'the quotation mark of this cell is never closed',
  CSV_MAX_RECORD_SIZE: 'this row is larger than a batch may be, or a quotation mark is not closed',
};

const lineBreaksIn = (cell: Buffer): number => cell.toString('latin1').match(/\r\n|\n|\r/g)?.length ?? 0;

const delimiters = [',', ';', '\t'];
/** In these bytes, the header is read to find the delimiter. */
const headBytes = 64 * 1024;

/** `start` is the length of the byte order mark, 0 without one. */
async function formOf(file: string) {
  const handle = await open(file);
  const { buffer, bytesRead } = await handle
    .read(Buffer.alloc(headBytes), 0, headBytes, 0)
    .finally(() => handle.close());
  const head = buffer.subarray(0, bytesRead);
  const hex = head.toString('hex', 0, 3);
  if (/^(fffe|feff)/.test(hex))
    throw new Error(`${file} line 1, column 1 is UTF-16: save the file as CSV in UTF-8`);
  // The parser's own option for the byte order mark would decode cells.
  const start = hex === 'efbbbf' ? 3 : 0;
  const cellsWith = delimiters.map((delimiter) => countCells(head.subarray(start), delimiter));
  return { delimiter: delimiters[cellsWith.indexOf(Math.max(...cellsWith))] ?? ',', start };
}

function countCells(head: Buffer, delimiter: string): number {
  try {
    const [cells = []] = parseSync(head, { ...options, delimiter, to: 1 }) as unknown as Buffer[][];
    return cells.length;
  } catch {
    return 0;
  }
}

/** @throws Error if a cell is not UTF-8, because other cells may then be read wrongly too */
function decode(
  location: string,
  cells: readonly Buffer[],
  columns: readonly Column[] | undefined,
): string[] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return cells.map((cell, index) => {
    try {
      return decoder.decode(cell);
    } catch {
      throw new Error(
        `${location}, ${describeColumn(columns, index)} is not UTF-8: save the file as CSV in UTF-8`,
      );
    }
  });
}

const nameOf = (text: string): string => text.trim().toLowerCase();

function readHeader(location: string, texts: readonly string[], mapping: CsvColumns): Column[] {
  const fieldOf = new Map(requestFields.map((field) => [nameOf(mapping.names[field] ?? field), field]));
  const columns = texts.map(
    (text, index): Column => ({ number: index + 1, name: text.trim(), field: fieldOf.get(nameOf(text)) }),
  );
  for (const column of columns) {
    const { number, name, field } = column;
    if (field === undefined && !mapping.ignoreOthers) throw new Error(unknownColumn(location, column));
    const first = columns.find((other) => other.field === field)?.number;
    if (field !== undefined && first !== number)
      throw new Error(`${location}, column ${number}: ${name} is also the name of column ${first}`);
  }
  for (const field of new Set(['message', ...Object.keys(mapping.names)]))
    if (!columns.some((column) => column.field === field))
      throw new Error(
        `${location}: no column is ${mapping.names[field] ?? field}, among ${columns.map(({ name }) => name).join(', ')}; ` +
          `--column ${field}=NAME says which one it is`,
      );
  return columns;
}

const unknownColumn = (location: string, { number, name }: Column): string =>
  name === ''
    ? `${location}, column ${number} has no name; --ignore-other-columns leaves it out`
    : `${location}, column ${number}: ${name} is no field of a request (${requestFields.join(', ')}); ` +
      `--column FIELD=${JSON.stringify(name)} makes it one, and --ignore-other-columns leaves it out`;

function describeColumn(columns: readonly Column[] | undefined, index: number): string {
  const name = columns?.[index]?.name;
  return name === undefined ? `column ${index + 1}` : `column ${index + 1} (${name})`;
}

const describeCells =
  (location: string, columns: readonly Column[]): Describe =>
  (issues) =>
    issues.map((issue) => {
      const [field] = issue.path;
      const index = columns.findIndex((column) => column.field === field);
      const at =
        index < 0
          ? field === undefined
            ? ':'
            : `: ${String(field)}`
          : `, ${describeColumn(columns, index)}`;
      return describeIssues([{ ...issue, path: [] }], `${location}${at}`);
    });

const describeLength = (location: string, columns: readonly Column[], length: number): string =>
  length < columns.length
    ? `${location}, ${describeColumn(columns, length)} is missing: the row has ${length} of ${columns.length} cells`
    : `${location}, column ${columns.length + 1} is too many: the header has ${columns.length} columns`;

function fieldsOf(columns: readonly Column[], texts: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const { number, field } of columns) {
    const text = texts[number - 1] ?? '';
    if (field !== undefined && text !== '') fields[field] = fieldValue(field, text);
  }
  return fields;
}

function fieldValue(field: string, text: string): unknown {
  if (field === 'attached_file_uuids') return text.split(/[\s,;]+/).filter(Boolean);
  if (field === 'history_id' && /^\s*\d{1,16}\s*$/.test(text)) return Number(text);
  return text;
}
