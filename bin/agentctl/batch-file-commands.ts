import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { type WebhookEvent, webhookEvents } from '#contract/batch-statuses.ts';
import { UsageError } from '../failures.ts';
import { type BatchClient, clientOperation, openBatchClient } from './batch-client.ts';
import { countRequests, outcomeOf, outcomeResult } from './batch-outcome.ts';
import { checkInput } from './check-input.ts';
import { interruptible, ownCommandLine } from './interruption.ts';
import { countOf, formatCount, progressLine } from './progress-line.ts';
import { type CsvColumns, requestFields } from './read-csv.ts';
import { readSchema } from './read-json.ts';
import type { Result } from './report.ts';
import { batchesResult, checkResult, mergeResults, retryResult, submissionResult } from './report-batches.ts';
import { findFailedLines, isRetrying } from './retry-failed.ts';
import { agentOf } from './service-address.ts';
import { readSubmission, type SubmissionState, submittedRequests } from './submission-journal.ts';
import { type SubmitOptions, type SubmitProgress, submitFile } from './submit-file.ts';
import { BatchWatch } from './watch-batches.ts';

interface WaitOptions {
  webhookSecret?: string;
  wait?: true;
  dryRun?: true;
}

interface FileOptions extends WaitOptions {
  agent?: string;
  webhookUrl?: string;
  webhookEvents?: WebhookEvent[];
  column?: Record<string, string>;
  ignoreOtherColumns?: true;
  schema?: string;
  again?: true;
}

type FindRetry = NonNullable<SubmitOptions['findRetry']>;

export function addFileCommands(group: Command): void {
  withWait(clientOperation(group, 'submit <file>', submit))
    .description('submit a file of requests, CSV or one JSON object per line, as batches of up to 1000')
    .option('--agent <agent>', 'the agent that replies; by default the demo agent of a local run')
    .option(
      '--column <field=name>',
      'the column of a CSV file that has a field, such as message=Question; can be given several times',
      readColumn,
    )
    .option('--ignore-other-columns', 'leave out columns of a CSV file that are no field')
    .option('--schema <file>', 'a file with a JSON Schema that every reply fits')
    .option('--webhook-url <url>', 'an HTTPS address that the service calls when a batch ends')
    .option('--webhook-events <events>', `some of ${webhookEvents.join(',')}`, readEvents)
    .option('--again', 'submit the whole file again, including lines that an earlier run has submitted')
    .addHelpText('after', submitHelp);
  withWait(clientOperation(group, 'retry-failed <file>', retryFailed))
    .description('submit the failed requests of a submitted file again')
    .addHelpText('after', retryHelp);
}

const withWait = (command: Command): Command =>
  command
    .option('--wait', 'wait until every batch has ended, and summarize all of them')
    .option('--dry-run', 'only check the file and count requests, batches and characters; send nothing')
    .option(
      '--webhook-secret <secret>',
      'the secret that signs the calls of webhooks; by default AGENT_SERVICE_WEBHOOK_SECRET',
    );

const submitHelp = `
CSV (the name ends in .csv or .tsv) has a header. A column with the name of a field is that field, without regard to
case: ${requestFields.join(', ')}.
Only message is required. Others need --column or --ignore-other-columns. An empty cell is a field that is not given.
Commas, semicolons or tabs separate cells. UTF-8, with or without a byte order mark. Uuids have spaces between them.

Any other file has a request of POST /batches in each line:
  {"message":"What is a lease?"}
  {"custom_id":"q2","message":"Who renews it?","external_user_id":"ada"}

The default of custom_id is line-<n>. Blank lines and rows are skipped. The whole file is checked before anything is
sent; each mistake is reported with its line and column.

A journal in $XDG_STATE_HOME/agentctl (by default ~/.local/state/agentctl) records which batches the service has
accepted, by the path of the file. After an interruption the same command continues after them. It sends the batch that
was in transit again with the same Idempotency-Key, so no request is submitted twice. After 23 hours, or if the lines
have changed, it first searches for that batch in the workspace.`;

const retryHelp = `
All batches of the file must have ended. The new batches have the same custom ids. After an interruption the same
command continues: it starts another retry only when the last one has ended. agentctl batch results FILE has the last
result of each request.`;

function readColumn(text: string, previous: Record<string, string> = {}): Record<string, string> {
  const [, field = '', name = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (!requestFields.includes(field))
    throw new InvalidArgumentError(`It must be FIELD=NAME, with a field of ${requestFields.join(', ')}.`);
  if (field in previous) throw new InvalidArgumentError(`The field ${field} has two columns.`);
  return { ...previous, [field]: name };
}

function readEvents(text: string): WebhookEvent[] {
  const events = z.array(z.enum(webhookEvents)).safeParse(text.split(',').map((event) => event.trim()));
  if (events.success) return events.data;
  throw new InvalidArgumentError(`Events are ${webhookEvents.join(', ')}.`);
}

async function submit(file: string, options: FileOptions, command: Command): Promise<Result> {
  const webhook = webhookOf(options);
  const columns = { names: options.column ?? {}, ignoreOthers: options.ignoreOtherColumns === true };
  if (options.dryRun === true) return dryRun(file, columns, options.again === true);
  const opened = await openBatchClient(command);
  const agent_id = agentOf(options.agent, opened.service);
  const schema = await readSchema(options.schema);
  const submission = { service: opened.service.identity, agent_id, webhook, columns, schema };
  const run = new FileRun(opened, file, options);
  const given = { submission: () => submission, restart: options.again === true };
  const { state, submittedBefore } = await run.submit(given);
  return run.summarize(state, submissionResult(file, state, submittedBefore));
}

async function retryFailed(file: string, options: WaitOptions, command: Command): Promise<Result> {
  const opened = await openBatchClient(command);
  const service = opened.service.identity;
  const run = new FileRun(opened, file, options);
  if (options.dryRun === true) return dryRetry(file, run, service);
  const { state, submittedBefore } = await run.submit({
    submission: (previous) => {
      if (previous === undefined) throw notSubmitted(file);
      return { ...previous.submission, service };
    },
    restart: false,
    findRetry: (found) => findRetry(run, found),
  });
  return run.summarize(state, retryResult(file, state, submittedBefore));
}

/** @returns the lines of a new round; none if an unfinished retry continues, or if there is nothing to retry */
async function findRetry(
  { opened: { client, line }, watch }: FileRun,
  { input, size, state }: Parameters<FindRetry>[0],
): Promise<number[]> {
  if (size.requests > 0)
    throw new Error(
      `${countOf(size.requests, 'request')} of ${input.file} not submitted yet: agentctl batch submit continues`,
    );
  await watch.read(batchIdsOf(state));
  if (isRetrying(state, watch)) return [];
  const open = watch.open.length;
  if (open > 0)
    throw new Error(
      `${countOf(open, 'batch', 'batches')} of ${input.file} ${open === 1 ? 'has' : 'have'} not ended: agentctl batch status FILE --watch waits`,
    );
  return findFailedLines(client, input, state, watch, line.log);
}

async function dryRetry(file: string, run: FileRun, service: string): Promise<Result> {
  const state = await findSubmission(file, service);
  const input = { file, columns: state.submission.columns };
  const { log, clear } = run.opened.line;
  const size = await checkInput(input, state.rounds[0]?.accepted ?? [], log);
  const failed = await findRetry(run, { input, size, state });
  const { lines, accepted } =
    failed.length > 0 ? { lines: failed, accepted: [] } : (state.rounds.at(-1) ?? { accepted: [] });
  const left = await checkInput(input, accepted, log, lines);
  clear();
  return checkResult(file, left, []);
}

const notSubmitted = (file: string): Error =>
  new Error(`${file} was not submitted from this path on this machine: agentctl batch submit does it`);

/** @throws Error such as for a file that was not submitted, or was submitted to another service */
export async function findSubmission(file: string, service: string): Promise<SubmissionState> {
  const state = await readSubmission(file);
  if (state === undefined) throw notSubmitted(file);
  if (state.submission.service !== service) throw new Error(`${file} was submitted to another service`);
  return state;
}

async function dryRun(file: string, columns: CsvColumns, restart: boolean): Promise<Result> {
  const state = restart ? undefined : await readSubmission(file);
  const accepted = state?.rounds[0]?.accepted ?? [];
  const size = await checkInput({ file, columns }, accepted, progressLine().log);
  return checkResult(file, size, accepted);
}

function webhookOf({ webhookUrl, webhookEvents: events, webhookSecret }: FileOptions) {
  if (webhookUrl === undefined && (events ?? webhookSecret) !== undefined)
    throw new UsageError('--webhook-secret and --webhook-events need --webhook-url');
  return webhookUrl === undefined ? null : { url: webhookUrl, ...(events !== undefined && { events }) };
}

export const batchIdsOf = ({ accepted }: SubmissionState): string[] => accepted.map(({ batchId }) => batchId);

const retriedOf = ({ accepted }: SubmissionState): ReadonlySet<string> =>
  new Set(accepted.filter(({ isRetried }) => isRetried).map(({ batchId }) => batchId));

class FileRun {
  readonly opened: BatchClient;
  readonly watch: BatchWatch;
  readonly #file: string;
  readonly #options: WaitOptions;
  #progress: SubmitProgress | undefined;

  constructor(opened: BatchClient, file: string, options: WaitOptions) {
    this.opened = opened;
    this.watch = new BatchWatch(opened.client, () => this.#show());
    this.#file = file;
    this.#options = options;
  }

  submit(options: Pick<SubmitOptions, 'submission' | 'restart' | 'findRetry'>) {
    const { webhookSecret = process.env.AGENT_SERVICE_WEBHOOK_SECRET || undefined } = this.#options;
    return this.#interruptible(() =>
      submitFile(this.opened.client, {
        ...options,
        file: this.#file,
        webhookSecret,
        watch: this.watch,
        log: this.opened.line.log,
        onProgress: (progress) => {
          this.#progress = progress;
          this.#show();
        },
      }),
    );
  }

  async summarize(state: SubmissionState, submission: Result): Promise<Result> {
    if (this.#options.wait !== true) return submission;
    return this.#interruptible(async () =>
      mergeResults(submission, await awaitOutcome(this.opened, this.watch, batchIdsOf(state), state)),
    );
  }

  #interruptible<Value>(work: () => Promise<Value>): Promise<Value> {
    const describe = () => [...this.#describeOpen(), `To go on: ${ownCommandLine(['--again'])}`];
    return interruptible(this.opened.line, describe, work);
  }

  #describeOpen(): string[] {
    if (this.#progress === undefined) return ['Stopped before anything was sent.'];
    const { state, requests } = this.#progress;
    const ended = new Set(this.watch.ended.map(({ id }) => id));
    const open = state.accepted.filter(({ batchId }) => !ended.has(batchId));
    const openRequests = open.reduce((sum, batch) => sum + batch.requests, 0);
    const { pending } = state;
    const left = totalOf(state, requests) - submittedOf(state) - (pending?.requests ?? 0);
    return [
      open.length === 0
        ? 'Stopped. No batch of the file goes on in the service.'
        : `Stopped. ${countOf(open.length, 'batch', 'batches')} with ${countOf(openRequests, 'request')} ${open.length === 1 ? 'goes' : 'go'} on in the service.`,
      ...(pending === undefined
        ? []
        : [`${countOf(pending.requests, 'request')} being sent: the next run finds out what arrived.`]),
      ...(left > 0 ? [`${countOf(left, 'request')} not submitted yet.`] : []),
    ];
  }

  #show(): void {
    if (this.#progress === undefined) return;
    const { state, requests } = this.#progress;
    const submitted = submittedOf(state);
    const counted = `${countOf(submitted, 'request')} in ${countOf(state.accepted.length, 'batch', 'batches')}`;
    if (this.#options.wait === true) this.#showEnded(this.#progress, submitted);
    else this.opened.line.show({ done: submitted, total: totalOf(state, requests), counted });
  }

  #showEnded({ state, requests }: SubmitProgress, submitted: number): void {
    const retried = retriedOf(state);
    const { completed } = countRequests(this.watch.batches);
    const { failed } = countRequests(this.watch.batches.filter(({ id }) => !retried.has(id)));
    const counted = [
      `${formatCount(completed + failed)} of ${formatCount(requests)} requests`,
      ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
      ...(submitted < totalOf(state, requests) ? [`${formatCount(submitted)} submitted`] : []),
    ];
    this.opened.line.show({ done: completed + failed, total: requests, counted: counted.join(', ') });
  }
}

/**
 * Sets the exit code by the outcome of the requests.
 * @param state undefined for batches that are given by their ids
 */
export async function awaitOutcome(
  { client, line }: BatchClient,
  watch: BatchWatch,
  ids: readonly string[],
  state: SubmissionState | undefined,
): Promise<Result> {
  await watch.read(ids);
  await watch.untilEnded();
  const batches = watch.batchesOf(ids);
  const outcome = await outcomeOf(client, batches, line.log, state && retriedOf(state));
  process.exitCode = outcome.exitCode;
  return mergeResults(batchesResult(batches), outcomeResult(outcome));
}

const submittedOf = ({ rounds }: SubmissionState): number =>
  rounds.reduce((sum, round) => sum + submittedRequests(round), 0);

const totalOf = ({ rounds }: SubmissionState, requests: number): number =>
  rounds.reduce((sum, { lines }) => sum + (lines?.length ?? requests), 0);
