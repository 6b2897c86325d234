import { existsSync } from 'node:fs';
import { Command, Option } from 'commander';
import {
  type BatchResultStatus,
  type BatchStatus,
  batchResultStatuses,
  batchStatuses,
} from '#contract/batch-statuses.ts';
import { limits } from '#contract/limits.ts';
import type { Batch } from '#lib/client/index.ts';
import { UsageError } from '../failures.ts';
import { wholeNumber } from '../whole-number.ts';
import { type BatchClient, clientOperation, openBatchClient } from './batch-client.ts';
import { addFileCommands, awaitOutcome, batchIdsOf, findSubmission } from './batch-file-commands.ts';
import { countRequests, outcomeResult } from './batch-outcome.ts';
import { downloadResults } from './download-results.ts';
import { isCsv } from './input-records.ts';
import { interruptible, ownCommandLine } from './interruption.ts';
import { joinResults } from './join-results.ts';
import { countOf, formatCount, type ProgressLine } from './progress-line.ts';
import type { Result } from './report.ts';
import { batchesResult, batchListResult, downloadResult, mergeResults } from './report-batches.ts';
import { type SubmissionState, submittedRequests } from './submission-journal.ts';
import { BatchWatch } from './watch-batches.ts';

export function batchCommands(): Command {
  const group = new Command('batch')
    .description('Batches, as a client: many messages that agents reply to in the background.')
    .addHelpText('after', exitCodesHelp);
  addFileCommands(group);
  clientOperation(group, 'list', list)
    .description('list the batches of the workspace, newest first')
    .option('--limit <number>', 'how many batches', readLimit, 20)
    .addOption(new Option('--status <status>', 'only batches in this state').choices(batchStatuses));
  clientOperation(group, 'status <batch-or-file...>', status)
    .description('show the progress of batches, or of those of a submitted file')
    .option('--watch', 'repeat until every batch has ended, and summarize all of them');
  clientOperation(group, 'cancel <batch>', cancel).description(
    'cancel a batch: requests that have not started fail with 499, those in work are completed',
  );
  clientOperation(group, 'results <batch-or-file...>', results)
    .description('write the results of batches, or of all requests of a submitted file, to a file')
    .requiredOption('--out <file>', 'the file; it appears when it is complete')
    .addOption(
      new Option('--status <status>', 'only results of batches in this state').choices(batchResultStatuses),
    )
    .option('--for-spreadsheet', 'CSV that Excel opens as UTF-8, without running replies as formulas')
    .addHelpText('after', resultsHelp);
  for (const command of group.commands)
    if (['submit', 'retry-failed', 'status', 'results'].includes(command.name()))
      command.addHelpText('after', exitCodesHelp);
  return group;
}

const exitCodesHelp = `
Exit codes: 0 success, with --wait, --watch or the results of a file: all requests succeeded. 3 some requests have failed,
or have no result yet. 4 all requests have failed. 1 the command failed. 2 the command line is wrong. 130 Ctrl-C.`;

const resultsHelp = `
Of a submitted file (CSV or JSON lines), the output has each row once, in its order, with the result of its last attempt:
line, custom_id, message, status, response_content, error_code, error_message, history_id, message_id, batch_id. It is
CSV if its name ends in .csv or .tsv, else one JSON object per line. The status of a row that was not submitted is
not_submitted.

Of batches, it has the results as the interface returns them, one JSON object per line, in the order of the requests. If a
batch has not ended, these are its results so far, and the command says so.`;

const readLimit = wholeNumber('a number from 1 to 999999', 1, 999_999);

async function list(
  { limit, status }: { limit: number; status?: BatchStatus },
  command: Command,
): Promise<Result> {
  const { client } = await openBatchClient(command);
  const query = { limit: Math.min(limit, limits.pageSizeMax), ...(status !== undefined && { status }) };
  const page = await client.batches.list(query);
  const batches: Batch[] = [];
  for await (const batch of page) if (batches.push(batch) === limit) break;
  return batchListResult(batches, page.pagination.total_records);
}

async function cancel(batchId: string, _options: object, command: Command): Promise<Result> {
  const { client } = await openBatchClient(command);
  return batchesResult([await client.batches.cancel(batchId)]);
}

async function status(names: string[], options: { watch?: true }, command: Command): Promise<Result> {
  const opened = await openBatchClient(command);
  const { client, line, service } = opened;
  const state = await submissionOf(names, service.identity);
  const ids = state === undefined ? names : batchIdsOf(state);
  if (options.watch !== true) return batchesResult(await new BatchWatch(client).read(ids));
  const watch = new BatchWatch(client, () => {
    const { ended, total, failed } = countRequests(watch.batches);
    if (watch.batches.length < ids.length) return;
    const counted = [
      `${formatCount(ended)} of ${countOf(total, 'request')}`,
      ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
      ...(ids.length > 1 ? [`${countOf(watch.open.length, 'batch', 'batches')} open`] : []),
    ];
    line.show({ done: ended, total, counted: counted.join(', ') });
  });
  const describe = () => ['Stopped. The batches go on in the service.', `To go on: ${ownCommandLine()}`];
  return interruptible(line, describe, () => awaitOutcome(opened, watch, ids, state));
}

interface ResultsOptions {
  out: string;
  status?: BatchResultStatus;
  forSpreadsheet?: boolean;
}

async function results(names: string[], options: ResultsOptions, command: Command): Promise<Result> {
  const opened = await openBatchClient(command);
  const state = await submissionOf(names, opened.service.identity);
  const batches = await new BatchWatch(opened.client).read(state === undefined ? names : batchIdsOf(state));
  const [file = ''] = names;
  return interruptible(
    opened.line,
    () => [`Stopped. ${options.out} is unchanged.`],
    () =>
      state === undefined
        ? downloadBatches(opened, batches, options)
        : joinFile(opened, file, state, batches, options),
  );
}

const isBatchId = (name: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(name);

async function submissionOf(names: string[], service: string): Promise<SubmissionState | undefined> {
  const [file = ''] = names;
  if (names.every(isBatchId)) return undefined;
  if (names.length > 1) throw new UsageError('Give ids of batches, or one submitted file');
  if (!existsSync(file)) throw new Error(`${file} is neither the id of a batch nor a file`);
  return findSubmission(file, service);
}

async function downloadBatches(
  { client, line }: BatchClient,
  batches: readonly Batch[],
  { out, status, forSpreadsheet }: ResultsOptions,
): Promise<Result> {
  if (forSpreadsheet || isCsv(out))
    throw new UsageError('CSV is for the results of a submitted file; those of batches are JSON lines');
  const { total, completed, failed } = countRequests(batches);
  const expected = status === 'success' ? completed : status === 'failed' ? failed : total;
  const counts = await downloadResults(client, batches, {
    out,
    status,
    log: line.log,
    onProgress: (count) => showResults(line, count, expected),
  });
  return downloadResult(out, batches, counts);
}

async function joinFile(
  { client, line }: BatchClient,
  file: string,
  state: SubmissionState,
  batches: readonly Batch[],
  { out, status, forSpreadsheet = false }: ResultsOptions,
): Promise<Result> {
  if (status !== undefined)
    throw new UsageError('--status is for batches; the results of a file have every row');
  if (forSpreadsheet && !isCsv(out)) throw new UsageError('--for-spreadsheet is for an --out of CSV');
  const expected = submittedRequests(state.rounds[0]);
  const input = { file, columns: state.submission.columns };
  const onProgress = (count: number) => showResults(line, count, expected);
  const joined = { out, forSpreadsheet, log: line.log, onProgress };
  const outcome = await joinResults(client, input, state, batches, joined);
  process.exitCode = outcome.exitCode;
  const written = { json: { file: out }, lines: [`${out}: ${countOf(outcome.total, 'row')}`] };
  return mergeResults(written, outcomeResult(outcome));
}

const showResults = (line: ProgressLine, count: number, total: number): void =>
  line.show({ done: count, total, from: 0, counted: countOf(count, 'result') });
