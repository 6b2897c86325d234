import { stringify } from 'csv-stringify/sync';
import type { Batch, BatchResult, ChatBatchClient } from '#lib/client/index.ts';
import { Outcome } from './batch-outcome.ts';
import { type DownloadOptions, jsonLine, writeTexts } from './download-results.ts';
import { delimiterFor, type Input, type InputRecord, isCsv } from './input-records.ts';
import { writeWhole } from './partial-file.ts';
import { selectRecords, skip } from './read-portions.ts';
import { readResults } from './read-results.ts';
import type { Round, SubmissionState } from './submission-journal.ts';

/** `forSpreadsheet` adds to CSV a byte order mark, and an apostrophe before a cell that could be a formula. */
type JoinOptions = Pick<DownloadOptions, 'out' | 'log' | 'onProgress'> & { forSpreadsheet: boolean };

/**
 * @param batches all those of the submission
 * @throws Error such as for a changed row or a missing result; the client's errors
 */
export async function joinResults(
  client: ChatBatchClient,
  input: Input,
  state: SubmissionState,
  batches: readonly Batch[],
  options: JoinOptions,
): Promise<Outcome> {
  const submitted = selectRecords(input, undefined);
  for (const range of state.rounds[0]?.accepted ?? []) await skip(input, submitted, range);
  const batchOf = new Map(batches.map((batch) => [batch.id, batch]));
  const rounds = state.rounds.map((round) => ({
    covers: coverOf(round),
    results: resultsOf(client, round, batchOf, options.log),
  }));
  const outcome = new Outcome();
  const format = formatFor(options);
  async function* texts(): AsyncGenerator<string> {
    for await (const record of selectRecords(input, undefined)) {
      let last: ResultOfBatch | undefined;
      // The results of a round have the order of its rows.
      for (const { covers, results } of rounds)
        if (covers(record)) last = await nextResult(results, record, input);
      outcome.total += 1;
      if (last !== undefined) outcome.add(last);
      options.onProgress(outcome.total);
      yield format(join(record, last));
    }
    if (outcome.total === 0) yield format();
  }
  await writeWhole(options.out, (file) => writeTexts(file, texts()));
  return outcome;
}

type ResultOfBatch = BatchResult & { batch_id: string };

async function* resultsOf(
  client: ChatBatchClient,
  { accepted }: Round,
  batchOf: ReadonlyMap<string, Batch>,
  log: (line: string) => void,
): AsyncGenerator<ResultOfBatch> {
  for (const { batchId } of accepted) {
    const batch = batchOf.get(batchId);
    if (batch === undefined) throw new Error(`The batch ${batchId} was not read`);
    for await (const result of readResults(client, batch, { log })) yield { ...result, batch_id: batchId };
  }
}

function coverOf({ lines, accepted }: Round): (record: InputRecord) => boolean {
  const lastLine = accepted.at(-1)?.toLine ?? 0;
  const chosen = lines === undefined ? undefined : new Set(lines);
  return ({ line }) => line <= lastLine && (chosen?.has(line) ?? true);
}

async function nextResult(
  results: AsyncGenerator<ResultOfBatch>,
  { line, request }: InputRecord,
  { file }: Input,
): Promise<ResultOfBatch> {
  const { value } = await results.next();
  if (value?.custom_id !== request.custom_id)
    throw new Error(`${file} line ${line}: the service has no result of ${request.custom_id}`);
  return value;
}

const resultFields = [
  ...(['response_content', 'error_code', 'error_message', 'history_id', 'message_id', 'batch_id'] as const),
];
const columns = ['line', 'custom_id', 'message', 'status', ...resultFields];

const join = ({ line, request }: InputRecord, last: ResultOfBatch | undefined): object => ({
  line,
  custom_id: request.custom_id,
  message: request.message,
  status: last?.status ?? 'not_submitted',
  ...Object.fromEntries(resultFields.map((field) => [field, last?.[field] ?? null])),
});

/** Without a record, the returned function formats only the header, which is empty for JSON. */
function formatFor({ out, forSpreadsheet }: JoinOptions) {
  if (!isCsv(out)) return (record?: object): string => (record === undefined ? '' : jsonLine(record));
  const shared = { columns, delimiter: delimiterFor(out), escape_formulas: forSpreadsheet };
  let isFirst = true;
  return (record?: object): string => {
    const text = stringify(record === undefined ? [] : [record], {
      ...shared,
      header: isFirst,
      bom: isFirst && forSpreadsheet,
    });
    isFirst = false;
    return text;
  };
}
