import { constants } from 'node:fs';
import { copyFile, open, readFile, rm, stat } from 'node:fs/promises';
import * as z from 'zod';
import { webhookEvents } from '#contract/batch-statuses.ts';
import { reasonOf } from '#local/data/state-file.ts';
import { csvColumns } from './read-csv.ts';
import { journalPath } from './state-folder.ts';

/** `isRetried`: whether a later round has the failed requests of the batch. */
export type Accepted = z.infer<typeof acceptedEntry> & { isRetried: boolean };

/** The first round submits the whole file; a later round submits failed requests again. */
export interface Round {
  /** In ascending order; undefined for the whole file. */
  lines?: readonly number[];
  accepted: Accepted[];
}

export const submittedRequests = (round: Round | undefined): number =>
  (round?.accepted ?? []).reduce((sum, { requests }) => sum + requests, 0);

const rangeFields = {
  fromLine: z.int(),
  toLine: z.int(),
  sha256: z.string(),
  requests: z.int(),
  round: z.int().default(0),
};

const submissionEntry = z.object({
  is: z.literal('submission'),
  service: z.string(),
  agent_id: z.string(),
  webhook: z.object({ url: z.string(), events: z.array(z.enum(webhookEvents)).optional() }).nullable(),
  columns: csvColumns.default({ names: {}, ignoreOthers: false }),
  schema: z.record(z.string(), z.unknown()).nullable().default(null),
});
/** A journal with a batch or a pending portion can continue only a submission with the same properties. */
export type Submission = Omit<z.infer<typeof submissionEntry>, 'is'>;

const sendingEntry = z.object({
  is: z.literal('sending'),
  ...rangeFields,
  key: z.string(),
  firstId: z.string(),
  lastId: z.string(),
  /** A batch from before the portion was sent: the portion's own batch is newer. Null if there was none. */
  newest: z.string().nullable(),
  at: z.string(),
});
/** Written before a portion is sent: a later run may have to find out whether it has become a batch. */
export type Intent = z.infer<typeof sendingEntry>;

const acceptedEntry = z.object({ is: z.literal('accepted'), ...rangeFields, batchId: z.string() });

const entry = z.discriminatedUnion('is', [
  submissionEntry,
  sendingEntry,
  acceptedEntry,
  // The pending portion has not become a batch.
  z.object({ is: z.literal('given up') }),
  // Starts a round that submits failed requests again. The lines are in ascending order.
  z.object({ is: z.literal('retry'), lines: z.array(z.int()) }),
]);

type Entry = z.infer<typeof entry>;

export class SubmissionState {
  readonly submission: Submission;
  readonly rounds: Round[] = [{ accepted: [] }];
  /** The last portion, if it is not known whether it has become a batch. */
  pending: Intent | undefined;

  constructor(submission: Submission) {
    this.submission = submission;
  }

  get accepted(): Accepted[] {
    return this.rounds.flatMap(({ accepted }) => accepted);
  }

  apply(added: Entry): void {
    this.pending = added.is === 'sending' ? added : undefined;
    if (added.is === 'accepted') this.rounds[added.round]?.accepted.push({ ...added, isRetried: false });
    if (added.is === 'retry') {
      for (const batch of this.accepted) batch.isRetried = true;
      this.rounds.push({ lines: added.lines, accepted: [] });
    }
  }
}

/**
 * @returns undefined if the journal has no batch and no pending portion
 * @throws Error as `adoptJournal`, or if the journal is not one of a submission
 */
export async function readSubmission(file: string): Promise<SubmissionState | undefined> {
  const path = await adoptJournal(file);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  return parseJournal(path, text).state;
}

export type SubmissionJournal = Awaited<ReturnType<typeof openJournal>>;

/**
 * The caller must hold the journal's lock. Begins the journal if it has no batch and no pending portion. Removes an
 * incomplete last line.
 * @param submission `previous` is an earlier submission of the file
 * @throws Error such as for a begun submission with other properties; what `submission` throws
 */
export async function openJournal(
  file: string,
  path: string,
  submission: (previous: SubmissionState | undefined) => Submission,
  discard: boolean,
) {
  const opened = await open(path, discard ? 'w+' : 'a+', 0o600);
  const write = async (added: Entry) => {
    await opened.appendFile(`${JSON.stringify(added)}\n`);
    await opened.datasync();
  };
  try {
    const { state: previous, bytes } = parseJournal(path, await opened.readFile('utf8'));
    await opened.truncate(bytes);
    const expected = submission(previous);
    if (previous === undefined) await write({ is: 'submission', ...expected });
    else rejectOther(file, previous.submission, expected);
    const state = previous ?? new SubmissionState(expected);
    const add = async (added: Entry) => {
      await write(added);
      state.apply(added);
    };
    const accept = async (batchId: string) => {
      if (state.pending === undefined) throw new Error('Nothing was being sent');
      const { fromLine, toLine, sha256, requests, round } = state.pending;
      await add({ is: 'accepted', fromLine, toLine, sha256, requests, round, batchId });
    };
    return { state, add, accept, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** @throws Error such as for a pipe, which cannot be read twice */
async function checkRegular(file: string): Promise<void> {
  const found = await stat(file).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`);
  });
  if (!found.isFile()) throw new Error(`${file} is not a regular file, which can be read again to continue`);
}

/**
 * Earlier versions had the journal next to the file. It is moved from there unless a new one exists, so that its
 * batches are not submitted again.
 * @throws Error such as for a file that is not a regular file
 */
export async function adoptJournal(file: string): Promise<string> {
  await checkRegular(file);
  const path = await journalPath(file);
  const former = `${file}.submission`;
  try {
    await copyFile(former, path, constants.COPYFILE_EXCL);
    await rm(former);
  } catch (error) {
    // There is no former journal, or the new one exists already.
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return path;
}

/**
 * The last line is incomplete if the process died while it wrote it: `bytes` are without it. A journal without a batch
 * and without a pending portion counts as empty, so the next run may have other properties.
 */
function parseJournal(path: string, text: string): { state: SubmissionState | undefined; bytes: number } {
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  const [first, ...others] = complete
    .split('\n')
    .slice(0, -1)
    .map((line) => readEntry(path, line));
  const bytes = Buffer.byteLength(complete);
  if (first === undefined) return { state: undefined, bytes };
  if (first.is !== 'submission') throw noJournal(path);
  const state = new SubmissionState(first);
  for (const other of others) state.apply(other);
  const isStarted = state.accepted.length > 0 || state.pending !== undefined;
  return isStarted ? { state, bytes } : { state: undefined, bytes: 0 };
}

function readEntry(path: string, line: string): Entry {
  try {
    return entry.parse(JSON.parse(line));
  } catch {
    throw noJournal(path);
  }
}

const noJournal = (path: string): Error =>
  new Error(`${path} is not the journal of a submission: move it away`);

const others = [
  ['service', 'another service'],
  ['agent_id', 'another agent'],
  ['webhook', 'another webhook'],
  ['columns', 'other columns'],
  ['schema', 'another schema'],
] as const;

function rejectOther(file: string, previous: Submission, submission: Submission): void {
  for (const [field, other] of others)
    if (JSON.stringify(previous[field]) !== JSON.stringify(submission[field]))
      throw new Error(
        `${file} was submitted with ${other}; use the same to continue, or submit the whole file again with --again`,
      );
}
