import { type FileHandle, open } from 'node:fs/promises';
import * as z from 'zod';
import { type WebhookEvent, webhookEvents } from '#contract/batch-statuses.ts';
import type { Range } from './read-portions.ts';

/** The properties of a submission. A journal is valid only for a submission with the same properties. */
export interface Submission {
  service: string;
  agent_id: string;
  webhook: { url: string; events?: WebhookEvent[] | undefined } | null;
}

/** A journal entry that is written before a portion is sent. It has all data to find the portion's batch later. */
export interface Intent extends Range {
  /** The header Idempotency-Key. */
  key: string;
  requests: number;
  firstId: string;
  lastId: string;
  /** The newest batch of the workspace before the portion was sent: the portion's own batch is newer. */
  newest: string | null;
  at: string;
}

/** A portion that has become a batch. */
export interface Accepted extends Range {
  batchId: string;
  requests: number;
}

const rangeFields = { fromLine: z.int(), toLine: z.int(), sha256: z.string(), requests: z.int() };

const entry = z.discriminatedUnion('is', [
  z.object({
    is: z.literal('submission'),
    service: z.string(),
    agent_id: z.string(),
    webhook: z.object({ url: z.string(), events: z.array(z.enum(webhookEvents)).optional() }).nullable(),
  }),
  z.object({
    is: z.literal('sending'),
    ...rangeFields,
    key: z.string(),
    firstId: z.string(),
    lastId: z.string(),
    newest: z.string().nullable(),
    at: z.string(),
  }),
  z.object({ is: z.literal('accepted'), ...rangeFields, batchId: z.string() }),
  z.object({ is: z.literal('given up') }),
]);

type Entry = z.infer<typeof entry>;

/** A file next to the file of requests. It records which lines have become batches. */
export class SubmissionJournal {
  readonly #file: FileHandle;
  readonly accepted: Accepted[] = [];
  /** The last portion, if it is not known whether it has become a batch. */
  pending: Intent | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /**
   * @param discard empties the journal
   * @throws Error if the journal belongs to another submission, or the file is not a journal
   */
  static async open(path: string, submission: Submission, discard: boolean): Promise<SubmissionJournal> {
    const journal = new SubmissionJournal(await open(path, discard ? 'w+' : 'a+', 0o600));
    const text = await journal.#file.readFile('utf8');
    // Removes an incomplete last line, which the process was writing when it died.
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    await journal.#file.truncate(Buffer.byteLength(complete));
    const [first, ...others] = complete
      .split('\n')
      .slice(0, -1)
      .map((line) => readEntry(path, line));
    if (first === undefined) await journal.#add({ is: 'submission', ...submission });
    else rejectOther(path, first, submission);
    for (const other of others) journal.#apply(other);
    return journal;
  }

  /** Records that a portion is about to be sent. */
  startSending(intent: Intent): Promise<void> {
    return this.#add({ is: 'sending', ...intent });
  }

  /** Records that the pending portion has become this batch. */
  async accept(batchId: string): Promise<Accepted> {
    if (this.pending === undefined) throw new Error('Nothing was being sent');
    const { fromLine, toLine, sha256, requests } = this.pending;
    const accepted = { fromLine, toLine, sha256, requests, batchId };
    await this.#add({ is: 'accepted', ...accepted });
    return accepted;
  }

  /** Records that the pending portion has not become a batch. */
  abandon(): Promise<void> {
    return this.#add({ is: 'given up' });
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #add(added: Entry): Promise<void> {
    await this.#file.appendFile(`${JSON.stringify(added)}\n`);
    await this.#file.datasync();
    this.#apply(added);
  }

  #apply(added: Entry): void {
    if (added.is === 'sending') {
      const { is: _, ...intent } = added;
      this.pending = intent;
      return;
    }
    this.pending = undefined;
    if (added.is === 'accepted') {
      const { is: _, ...accepted } = added;
      this.accepted.push(accepted);
    }
  }
}

function readEntry(path: string, line: string): Entry {
  try {
    return entry.parse(JSON.parse(line));
  } catch {
    throw new Error(`${path} is not the journal of a submission: move it away`);
  }
}

function rejectOther(path: string, first: Entry, submission: Submission): void {
  if (first.is !== 'submission') throw new Error(`${path} is not the journal of a submission: move it away`);
  const names = { service: 'service', agent_id: 'agent', webhook: 'webhook' } as const;
  for (const field of ['service', 'agent_id', 'webhook'] as const)
    if (JSON.stringify(first[field]) !== JSON.stringify(submission[field]))
      throw new Error(
        `${path}: this file was submitted with another ${names[field]}; use the same one to continue, ` +
          'or submit the whole file again with --again',
      );
}
