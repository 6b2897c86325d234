/** @import { BatchRequest, BatchResult } from './types.d.ts' */

/** The maximum of requests in a batch, and of results in a page of the service. */
export const requestsPerBatch = 1000;

/**
 * The requests of a file: `.jsonl` with a request or a text on each line, `.csv` whose first line names the columns,
 * else a message on each line.
 *
 * @param {string} name
 * @param {string} text
 * @returns {BatchRequest[]}
 * @throws Error that says what is wrong, and for a line of `.jsonl` which line it is
 */
export function requestsOf(name, text) {
  const content = text.replace(/^\uFEFF/, '');
  const extension = name.split('.').at(-1)?.toLowerCase();
  const found =
    extension === 'csv'
      ? recordsOf(content)
      : linesOf(content).map(extension === 'jsonl' ? fromJson : fromText);
  if (found.length === 0) throw new Error(`${name} has no request`);
  return found.map((request, index) => ({ custom_id: `request-${index + 1}`, ...request }));
}

/**
 * The lines that are not blank, without the spaces around them, and with their numbers.
 *
 * @param {string} text
 */
export const linesOf = (text) =>
  text
    .split(/\r\n?|\n/)
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '');

/** @param {{ line: string }} line */
const fromText = ({ line }) => ({ message: line });

/** @param {{ line: string, number: number }} line */
function fromJson({ line, number }) {
  try {
    const value = JSON.parse(line);
    if (typeof value === 'string') return { message: value };
    if (typeof value?.message === 'string') return value;
  } catch {
    // The error below also reports invalid JSON.
  }
  throw new Error(`Line ${number} is no JSON object with a message`);
}

/** @param {string} text */
function recordsOf(text) {
  const [names = [], ...records] = parseCsv(text).filter((cells) => cells.some((cell) => cell.trim() !== ''));
  const columns = names.map((name) => name.trim());
  if (!columns.includes('message'))
    throw new Error('The first line must name the columns, and one must be message');
  return records.map((cells) => {
    const fields = columns.map((column, index) => [column, cells[index] ?? '']);
    const known = fields.filter(([column, value = '']) => csvColumns.includes(column ?? '') && value !== '');
    return { message: '', ...Object.fromEntries(known) };
  });
}

/** The columns of a CSV file that become fields of a request. Other columns are ignored. */
const csvColumns = ['custom_id', 'message', 'name', 'external_user_id'];

/**
 * Parses CSV as in RFC 4180: a cell in quotes may have commas, line breaks and doubled quotes.
 *
 * @param {string} text
 * @returns {string[][]}
 */
export function parseCsv(text) {
  /** @type {string[][]} */
  const records = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n?|\n|$)/g)) {
    records.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end !== ',' && end !== '') records.push([]);
  }
  return records;
}

const resultColumns = /** @type {const} */ ([
  ...['custom_id', 'status', 'response_content', 'error_code', 'error_message', 'history_id'],
]);

/** @param {BatchResult[]} results */
export const csvOf = (results) =>
  [resultColumns, ...results.map((result) => resultColumns.map((column) => result[column]))]
    .map((cells) => `${cells.map(cellOf).join(',')}\r\n`)
    .join('');

/** @param {string | number | null} value */
function cellOf(value) {
  const text = String(value ?? '');
  // A spreadsheet might run such a text as a formula.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
