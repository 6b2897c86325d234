import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { limits } from '#contract/limits.ts';
import {
  ApiError,
  type ChatBatchClient,
  ConnectionError,
  type CreateBatchRequest,
} from '#lib/client/index.ts';
import { lockFile } from '#local/data/lock-file.ts';
import { reasonOf } from '#local/data/reason-of.ts';
import { awaitSubmittedBatch, findSubmittedBatch, newestBatch } from './find-submitted-batch.ts';
import { type Portion, readPortions } from './read-portions.ts';
import { describeServiceFailure, responseTimeoutSeconds } from './service-client.ts';
import { type Accepted, type Intent, type Submission, SubmissionJournal } from './submission-journal.ts';

export interface SubmitOptions {
  file: string;
  submission: Submission;
  webhookSecret: string | undefined;
  /** Ignores an earlier submission of the file and submits the whole file. */
  restart: boolean;
  log: (line: string) => void;
  onProgress: (progress: SubmitProgress) => void;
}

export interface SubmitProgress {
  requests: number;
  batches: number;
  /** Positions in the file, in bytes: `done` is how far this run is, `from` where it started, `total` the end. */
  done: number;
  from: number;
  total: number;
}

export interface Submitted {
  batches: Accepted[];
  /** How many of the batches an earlier run has submitted. */
  submittedBefore: number;
}

/**
 * The maximum time between the last byte of a request and the creation of its batch. The gateway ends a buffered route
 * after 29 s, so a batch cannot appear later.
 */
const maxWorkSeconds = 35;

/**
 * How long a retry with the same idempotency key creates no second batch: the lifetime of a key, minus one hour for
 * differences of clocks.
 */
const keyLifetimeMilliseconds = (limits.idempotencyHours - 1) * 60 * 60 * 1000;

/**
 * Submits a file of requests, one batch after another. A journal next to the file records for a later run which batches
 * the service has accepted. If a run was interrupted while it sent a portion, the next run sends the portion again with
 * the same idempotency key. If the key has expired or the lines have changed, the next run first searches for the
 * portion's batch.
 * @throws Error if the file cannot be read or is wrong, if another process submits it, or if the service rejects a
 * batch
 */
export async function submitFile(client: ChatBatchClient, options: SubmitOptions): Promise<Submitted> {
  const { file, submission, restart } = options;
  const found = await stat(file).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`);
  });
  if (!found.isFile()) throw new Error(`${file} is not a regular file; the journal is stored next to it`);
  const path = `${file}.submission`;
  const unlock = await lockFile(
    `${path}.lock`,
    (pid) => new Error(`${file} is being submitted by process ${pid}`),
  );
  try {
    const journal = await SubmissionJournal.open(path, submission, restart);
    try {
      return await submitRemaining(client, journal, options, found.size);
    } finally {
      await journal.close();
    }
  } finally {
    await unlock();
  }
}

async function submitRemaining(
  client: ChatBatchClient,
  journal: SubmissionJournal,
  options: SubmitOptions,
  total: number,
): Promise<Submitted> {
  const submittedBefore = journal.accepted.length;
  if (!(await shouldResend(journal, options))) await resolvePending(client, journal, options);
  let requests = 0;
  let from: number | undefined;
  let newest: string | null | undefined = journal.accepted.at(-1)?.batchId;
  for await (const portion of readPortions(options.file, [...journal.accepted])) {
    newest ??= await newestBatch(client);
    const isRetry = journal.pending !== undefined;
    if (isRetry)
      options.log(
        `Sending lines ${portion.fromLine} to ${portion.toLine} again, with the same idempotency key`,
      );
    else await journal.startSending(intentOf(portion, newest));
    newest = await sendPortion(client, journal, portion, { ...options, isRetry });
    requests += portion.requests.length;
    from ??= portion.start;
    const batches = journal.accepted.length - submittedBefore;
    options.onProgress({ requests, batches, done: portion.end, from, total });
  }
  return { batches: journal.accepted, submittedBefore };
}

/** Whether the pending portion of an earlier run can be sent again unchanged, without a second batch. */
async function shouldResend(journal: SubmissionJournal, { file }: SubmitOptions): Promise<boolean> {
  const intent = journal.pending;
  if (intent === undefined || Date.now() > Date.parse(intent.at) + keyLifetimeMilliseconds) return false;
  for await (const { sha256, toLine } of readPortions(file, journal.accepted))
    return sha256 === intent.sha256 && toLine === intent.toLine;
  return false;
}

/** Finds out whether the pending portion of an earlier run has become a batch. */
async function resolvePending(
  client: ChatBatchClient,
  journal: SubmissionJournal,
  { submission, log }: SubmitOptions,
): Promise<void> {
  const intent = journal.pending;
  if (intent === undefined) return;
  log(
    `Searching for the batch of lines ${intent.fromLine} to ${intent.toLine}, which were sent without a response`,
  );
  // The earlier run has ended, so its request ended before now, and at the latest after its response timeout.
  const ended = Math.min(Date.now(), Date.parse(intent.at) + responseTimeoutSeconds * 1000);
  const found = await awaitSubmittedBatch(
    () => findSubmittedBatch(client, submission.agent_id, intent, idsOf(journal)),
    ended + maxWorkSeconds * 1000,
  );
  if (found === undefined) await journal.abandon();
  else await journal.accept(found);
}

/** @returns the batch's id */
async function sendPortion(
  client: ChatBatchClient,
  journal: SubmissionJournal,
  portion: Portion,
  options: SubmitOptions & { isRetry: boolean },
): Promise<string> {
  const intent = journal.pending;
  if (intent === undefined) throw new Error('The journal has no pending portion');
  const sent = client.batches.create(bodyOf(portion, options), { idempotencyKey: intent.key });
  const { id } = await sent.catch(async (error: unknown) => {
    // If the portion may have become a batch, it stays pending in the journal, and the next run sends it again.
    if (!options.isRetry && !mayBeProcessed(error)) await journal.abandon();
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    throw new Error(`${options.file} ${describeRejection(error, portion)}`);
  });
  await journal.accept(id);
  return id;
}

/** Whether a failed request may have become a batch. An error that does not say so, as for the page of a proxy, may hide one. */
const mayBeProcessed = (error: unknown): boolean =>
  error instanceof ApiError || error instanceof ConnectionError ? error.mayBeProcessed : true;

const idsOf = (journal: SubmissionJournal): ReadonlySet<string> =>
  new Set(journal.accepted.map(({ batchId }) => batchId));

const intentOf = (portion: Portion, newest: string | null): Intent => ({
  key: randomUUID(),
  fromLine: portion.fromLine,
  toLine: portion.toLine,
  sha256: portion.sha256,
  requests: portion.requests.length,
  firstId: portion.firstId,
  lastId: portion.lastId,
  newest,
  at: new Date().toISOString(),
});

function bodyOf({ requests }: Portion, { submission, webhookSecret }: SubmitOptions): CreateBatchRequest {
  const { agent_id, webhook } = submission;
  if (webhook === null) return { agent_id, requests };
  const { url, events } = webhook;
  const options = {
    ...(events !== undefined && { events }),
    ...(webhookSecret !== undefined && { secret: webhookSecret }),
  };
  return { agent_id, webhook: { url, ...options }, requests };
}

/** Replaces the request indexes in the service's message with line numbers of the file. */
function describeRejection(error: ApiError, { fromLine, toLine, lines }: Portion): string {
  const location = `lines ${fromLine} to ${toLine}`;
  const named = describeServiceFailure(error).replace(/requests\[(\d+)\]\.?/g, (match, requestIndex) => {
    const line = lines[Number(requestIndex)];
    return line === undefined ? match : `line ${line}: `;
  });
  return `${location} were rejected: ${named}`;
}
