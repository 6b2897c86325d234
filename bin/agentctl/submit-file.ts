import { randomUUID } from 'node:crypto';
import { limits } from '#contract/limits.ts';
import {
  ApiError,
  type ChatBatchClient,
  ConnectionError,
  type CreateBatchRequest,
  RateLimitError,
} from '#lib/client/index.ts';
import { lockFile } from '#local/data/lock.ts';
import { checkInput, type InputSize } from './check-input.ts';
import { awaitSubmittedBatch, findSubmittedBatch, newestBatch } from './find-submitted-batch.ts';
import type { Input } from './input-records.ts';
import { formatOf } from './read-json.ts';
import { type Portion, readPortions } from './read-portions.ts';
import { describeServiceFailure } from './service-client.ts';
import {
  adoptJournal,
  openJournal,
  type Submission,
  type SubmissionJournal,
  type SubmissionState,
  submittedRequests,
} from './submission-journal.ts';
import type { BatchWatch } from './watch-batches.ts';

export interface SubmitOptions {
  file: string;
  submission: (previous: SubmissionState | undefined) => Submission;
  webhookSecret: string | undefined;
  /** Submits the whole file despite an earlier submission. */
  restart: boolean;
  /** Returns the line numbers of the requests to send again, in ascending order; without any, no new round begins. */
  findRetry?: (found: { input: Input; size: InputSize; state: SubmissionState }) => Promise<number[]>;
  watch: BatchWatch;
  log: (line: string) => void;
  onProgress: (progress: SubmitProgress) => void;
}

export interface SubmitProgress {
  state: SubmissionState;
  requests: number;
}

/**
 * Between the last byte of a request and the creation of its batch. The function's timeout is 29 s, and its start takes
 * up to 10 s more.
 */
const maxWorkSeconds = 45;

/** How long a retry with the same idempotency key creates no second batch. One hour is for differences of clocks. */
const keyLifetimeMilliseconds = (limits.idempotencyHours - 1) * 60 * 60 * 1000;

/**
 * A journal records for a later run which batches the service has accepted.
 * @returns `submittedBefore`: how many batches the journal has at the start, none with `restart`
 * @throws Error, for example if another process submits the file, or if it was submitted with other properties
 */
export async function submitFile(client: ChatBatchClient, options: SubmitOptions) {
  const { file, submission, restart } = options;
  const path = await adoptJournal(file);
  const inUse = (pid: string) => new Error(`${file} is being submitted by process ${pid}`);
  const unlock = await lockFile(`${path}.lock`, inUse);
  try {
    const journal = await openJournal(file, path, submission, restart);
    return await submitRemaining(client, journal, options).finally(() => journal.close());
  } finally {
    await unlock();
  }
}

async function submitRemaining(client: ChatBatchClient, journal: SubmissionJournal, options: SubmitOptions) {
  const { state } = journal;
  const submittedBefore = state.accepted.length;
  const input: Input = { file: options.file, columns: state.submission.columns };
  const size = await checkInput(input, state.rounds[0]?.accepted ?? [], options.log);
  const retried = (await options.findRetry?.({ input, size, state })) ?? [];
  if (retried.length > 0) await journal.add({ is: 'retry', lines: retried });
  const requests = size.requests + submittedRequests(state.rounds[0]);
  const sending: Sending = { ...options, client, journal, input, requests };
  options.onProgress({ state, requests });
  if (!(await shouldResend(sending))) await resolvePending(sending);
  // The round of the pending portion comes first, because the journal has at most one pending portion.
  const first = state.pending?.round ?? 0;
  for (const round of [first, ...state.rounds.keys()]) await submitRound(sending, round);
  return { state, submittedBefore };
}

interface Sending extends SubmitOptions {
  client: ChatBatchClient;
  journal: SubmissionJournal;
  input: Input;
  requests: number;
}

async function submitRound(sending: Sending, index: number): Promise<void> {
  const { client, journal, input, requests, log, onProgress } = sending;
  const { state } = journal;
  const round = state.rounds[index];
  if (round === undefined || submittedRequests(round) === round.lines?.length) return;
  let newest: string | null | undefined = state.accepted.at(-1)?.batchId;
  const portions = readPortions(input, { submitted: [...round.accepted], lines: round.lines });
  for await (const portion of portions) {
    newest ??= await newestBatch(client);
    const isRetry = state.pending !== undefined;
    if (isRetry)
      log(`Sending lines ${portion.fromLine} to ${portion.toLine} again, with the same idempotency key`);
    else await journal.add({ is: 'sending', ...intentOf(portion, newest), round: index });
    newest = await sendPortion(sending, portion, isRetry);
    onProgress({ state, requests });
  }
}

/** Whether the pending portion of an earlier run can be sent again without a second batch. */
async function shouldResend({ journal: { state }, input }: Sending): Promise<boolean> {
  const intent = state.pending;
  if (intent === undefined || Date.now() > Date.parse(intent.at) + keyLifetimeMilliseconds) return false;
  const { lines, accepted } = state.rounds[intent.round] ?? { accepted: [] };
  for await (const { sha256, toLine } of readPortions(input, { submitted: accepted, lines }))
    return sha256 === intent.sha256 && toLine === intent.toLine;
  return false;
}

async function resolvePending({ client, journal, log }: Sending): Promise<void> {
  const { pending: intent, submission, accepted } = journal.state;
  if (intent === undefined) return;
  const { fromLine, toLine } = intent;
  log(`Searching for the batch of lines ${fromLine} to ${toLine}, which were sent without a response`);
  const known = new Set(accepted.map(({ batchId }) => batchId));
  const find = () => findSubmittedBatch(client, submission.agent_id, intent, known);
  // The earlier run has ended, so its last batch appears at most `maxWorkSeconds` from now, if at all.
  const found = await awaitSubmittedBatch(find, Date.now() + maxWorkSeconds * 1000);
  if (found === undefined) await journal.add({ is: 'given up' });
  else await journal.accept(found);
}

/** Waits while a limit, such as that of open batches, rejects the portion. */
async function sendPortion(sending: Sending, portion: Portion, isRetry: boolean): Promise<string> {
  const { client, journal, file, watch } = sending;
  let mayBeSent = isRetry;
  for (;;) {
    const { pending } = journal.state;
    if (pending === undefined) throw new Error('The journal has no pending portion');
    try {
      const batch = await client.batches.create(bodyOf(portion, sending), {
        idempotencyKey: pending.key,
        throwsRateLimit: true,
      });
      watch.add(batch);
      await journal.accept(batch.id);
      return batch.id;
    } catch (error) {
      mayBeSent ||= mayBeProcessed(error);
      if (!(error instanceof RateLimitError) || error.isReplayed) {
        // If the portion may have become a batch, it stays pending in the journal for the next run.
        if (!mayBeSent) await journal.add({ is: 'given up' });
        throw rejectionOf(error, file, portion);
      }
      await waitForRoom(sending, error);
    }
  }
}

const shortestWait = 250;

/** A batch of the file that ends may make room. */
async function waitForRoom({ journal, watch, log }: Sending, error: RateLimitError): Promise<void> {
  const last = journal.state.accepted.filter(({ isRetried }) => !isRetried);
  await watch.read(last.map(({ batchId }) => batchId));
  // 10 to 25 % jitter spreads the retries of clients that were rejected at the same time.
  const wait = Math.max((error.retryAfter ?? 1) * 1000, shortestWait) * (1.1 + 0.15 * Math.random());
  const room = watch.open.length > 0 ? ', or when a batch has ended' : '';
  log(`${describeServiceFailure(error)}; trying again in ${(wait / 1000).toFixed(1)} s${room}`);
  await watch.untilOneHasEnded(wait);
}

/** If an error does not say, the request may have become a batch. */
const mayBeProcessed = (error: unknown): boolean =>
  error instanceof ApiError || error instanceof ConnectionError ? error.mayBeProcessed : true;

const intentOf = ({ requests, lines: _, ...portion }: Portion, newest: string | null) => ({
  ...portion,
  requests: requests.length,
  key: randomUUID(),
  newest,
  at: new Date().toISOString(),
});

function bodyOf({ requests }: Portion, { journal, webhookSecret }: Sending): CreateBatchRequest {
  const { agent_id, webhook, schema } = journal.state.submission;
  const body = { agent_id, requests, response_format: formatOf(schema) };
  if (webhook === null) return body;
  const { url, events } = webhook;
  const secret = webhookSecret !== undefined && { secret: webhookSecret };
  return { ...body, webhook: { url, ...(events !== undefined && { events }), ...secret } };
}

/** The request indexes in a rejection become line numbers of the file. */
function rejectionOf(error: unknown, file: string, { fromLine, toLine, lines }: Portion): unknown {
  if (!(error instanceof ApiError) || error.status >= 500) return error;
  const named = describeServiceFailure(error).replace(/requests\[(\d+)\]\.?/g, (match, requestIndex) => {
    const line = lines[Number(requestIndex)];
    return line === undefined ? match : `line ${line}: `;
  });
  return new Error(`${file} lines ${fromLine} to ${toLine} were rejected: ${named}`);
}
