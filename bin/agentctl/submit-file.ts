import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { BatchResource } from '#contract/batch.ts';
import { limits } from '#contract/limits.ts';
import { lockFile } from '#local/data/lock-file.ts';
import { awaitSubmittedBatch, findSubmittedBatch, newestBatch } from './find-submitted-batch.ts';
import { ApiRejection, type HttpClient, responseTimeoutSeconds, TemporaryFailure } from './http-client.ts';
import { type Portion, readPortions } from './read-portions.ts';
import { type Accepted, type Intent, type Submission, SubmissionJournal } from './submission-journal.ts';

export interface SubmitOptions {
  file: string;
  submission: Submission;
  webhookSecret: string | undefined;
  /** Forget an earlier submission of the file. */
  anew: boolean;
  log: (line: string) => void;
  onProgress: (progress: SubmitProgress) => void;
}

export interface SubmitProgress {
  requests: number;
  batches: number;
  /** Places in the file, in bytes. */
  done: number;
  from: number;
  total: number;
}

export interface Submitted {
  batches: Accepted[];
  /** How many of them an earlier run had submitted. */
  resumed: number;
}

/**
 * The longest that a request is at work behind its last byte: a buffered route is cut at 29 s. Later its batch can no
 * longer appear.
 */
const workSeconds = 35;

/** For so long the service makes no second batch of a key: its time, less an hour in which clocks may differ. */
const millisecondsOfKey = (limits.idempotencyHours - 1) * 60 * 60 * 1000;

/**
 * Sends a file of requests, a batch after the other. A journal beside the file tells a later run what has been accepted.
 * What a broken run was sending is sent again under its key; when its key is forgotten, or its lines have changed since,
 * its batch is looked for first.
 */
export async function submitFile(client: HttpClient, options: SubmitOptions): Promise<Submitted> {
  const { file, submission, anew } = options;
  const found = await stat(file).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}`);
  });
  if (!found.isFile()) throw new Error(`${file} is no file; a journal is kept beside what is submitted`);
  const path = `${file}.submission`;
  const unlock = await lockFile(`${path}.lock`, (pid) => `${file} is being submitted by process ${pid}`);
  try {
    const journal = await SubmissionJournal.open(path, submission, anew);
    try {
      return await goOn(client, journal, options, found.size);
    } finally {
      await journal.close();
    }
  } finally {
    await unlock();
  }
}

async function goOn(
  client: HttpClient,
  journal: SubmissionJournal,
  options: SubmitOptions,
  total: number,
): Promise<Submitted> {
  const resumed = journal.accepted.length;
  if (!(await shouldResend(journal, options))) await resolve(client, journal, options);
  let requests = 0;
  let from: number | undefined;
  let newest: string | null | undefined = journal.accepted.at(-1)?.batchId;
  for await (const portion of readPortions(options.file, [...journal.accepted])) {
    newest ??= await newestBatch(client);
    const isRetry = journal.unsettled !== undefined;
    if (isRetry) options.log(`Sending lines ${portion.fromLine} to ${portion.toLine} again, under their key`);
    else await journal.sending(intentOf(portion, newest));
    newest = await sendPortion(client, journal, portion, { ...options, isRetry });
    requests += portion.requests.length;
    from ??= portion.start;
    const batches = journal.accepted.length - resumed;
    options.onProgress({ requests, batches, done: portion.end, from, total });
  }
  return { batches: journal.accepted, resumed };
}

/** Whether what an earlier run was sending can be sent again as it was, without becoming a second batch. */
async function shouldResend(journal: SubmissionJournal, { file }: SubmitOptions): Promise<boolean> {
  const intent = journal.unsettled;
  if (intent === undefined || Date.now() > Date.parse(intent.at) + millisecondsOfKey) return false;
  for await (const { sha256, toLine } of readPortions(file, journal.accepted))
    return sha256 === intent.sha256 && toLine === intent.toLine;
  return false;
}

/** Finds out what has become of the portion that an earlier run was sending. */
async function resolve(
  client: HttpClient,
  journal: SubmissionJournal,
  { submission, log }: SubmitOptions,
): Promise<void> {
  const intent = journal.unsettled;
  if (intent === undefined) return;
  log(`Looking what has become of lines ${intent.fromLine} to ${intent.toLine}, sent without an answer`);
  // The run that sent it is over: by now, or when its time for an answer was up.
  const ended = Math.min(Date.now(), Date.parse(intent.at) + responseTimeoutSeconds * 1000);
  const found = await awaitSubmittedBatch(
    () => findSubmittedBatch(client, submission.agent_id, intent, idsOf(journal)),
    ended + workSeconds * 1000,
  );
  if (found === undefined) await journal.becameNothing();
  else await journal.becameBatch(found);
}

/** @returns the batch's id */
async function sendPortion(
  client: HttpClient,
  journal: SubmissionJournal,
  portion: Portion,
  options: SubmitOptions & { isRetry: boolean },
): Promise<string> {
  const intent = journal.unsettled;
  if (intent === undefined) throw new Error('The journal does not tell what is being sent');
  const body = bodyOf(portion, options);
  const headers = { 'Idempotency-Key': intent.key };
  let isUncertain = options.isRetry;
  const attempt = async (): Promise<string> => {
    try {
      return (await client.once<BatchResource>('/batches', { body, headers })).data.id;
    } catch (error) {
      const outcome = error instanceof TemporaryFailure ? error.outcome : 'failed';
      isUncertain ||= !(error instanceof ApiRejection || outcome === 'too many' || outcome === 'unconnected');
      throw error;
    }
  };
  try {
    const id = await client.persist(attempt);
    await journal.becameBatch(id);
    return id;
  } catch (error) {
    // What may have become a batch stays in the journal as being sent: the next run sends it again.
    if (!isUncertain) await journal.becameNothing();
    if (!(error instanceof ApiRejection)) throw error;
    throw new Error(`${options.file} ${describeRejection(error, portion)}`);
  }
}

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

function bodyOf({ requests }: Portion, { submission, webhookSecret }: SubmitOptions): string {
  const { agent_id, webhook } = submission;
  const head = JSON.stringify({
    agent_id,
    ...(webhook !== null && {
      webhook: { ...webhook, ...(webhookSecret !== undefined && { secret: webhookSecret }) },
    }),
  });
  return `${head.slice(0, -1)},"requests":[${requests.join(',')}]}`;
}

/** The service names requests by their place in the batch; here they have lines. */
function describeRejection({ message }: ApiRejection, { fromLine, toLine, lines }: Portion): string {
  const location = `lines ${fromLine} to ${toLine}`;
  const named = message.replace(/requests\[(\d+)\]\.?/g, (whole, position) => {
    const line = lines[Number(position)];
    return line === undefined ? whole : `line ${line}: `;
  });
  return `${location} were refused: ${named}`;
}
