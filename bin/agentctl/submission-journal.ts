import { type FileHandle, open } from 'node:fs/promises';
import * as z from 'zod';
import type { Range } from './read-portions.ts';

/** What a submission is; a journal is of no use to another one. */
export interface Submission {
  service: string;
  agent_id: string;
  webhook: { url: string; events?: string[] | undefined } | null;
}

/** A portion that is about to be sent, noted before it is, with what its batch can be found by afterwards. */
export interface Intent extends Range {
  /** The header Idempotency-Key. */
  key: string;
  requests: number;
  firstId: string;
  lastId: string;
  /** The workspace's newest batch before it: its own can only be newer. */
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
    webhook: z.object({ url: z.string(), events: z.array(z.string()).optional() }).nullable(),
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

/** The file beside a file of requests that tells which of its lines have become batches. */
export class SubmissionJournal {
  readonly #file: FileHandle;
  readonly accepted: Accepted[] = [];
  /** The last portion, when it is not known what has become of it. */
  unsettled: Intent | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /**
   * @param anew forgets what the journal tells
   * @throws Error when it belongs to another submission
   */
  static async open(path: string, submission: Submission, anew: boolean): Promise<SubmissionJournal> {
    const journal = new SubmissionJournal(await open(path, anew ? 'w+' : 'a+', 0o600));
    const text = await journal.#file.readFile('utf8');
    // What follows the last line feed was being written when the process died.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    await journal.#file.truncate(Buffer.byteLength(whole));
    const [first, ...others] = whole
      .split('\n')
      .slice(0, -1)
      .map((line) => readEntry(path, line));
    if (first === undefined) await journal.#add({ is: 'submission', ...submission });
    else rejectOther(path, first, submission);
    for (const other of others) journal.#apply(other);
    return journal;
  }

  sending(intent: Intent): Promise<void> {
    return this.#add({ is: 'sending', ...intent });
  }

  /** The portion that was being sent has become this batch. */
  async becameBatch(batchId: string): Promise<Accepted> {
    if (this.unsettled === undefined) throw new Error('Nothing was being sent');
    const { fromLine, toLine, sha256, requests } = this.unsettled;
    const accepted = { fromLine, toLine, sha256, requests, batchId };
    await this.#add({ is: 'accepted', ...accepted });
    return accepted;
  }

  /** The portion that was being sent has become none. */
  becameNothing(): Promise<void> {
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
      this.unsettled = intent;
      return;
    }
    this.unsettled = undefined;
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
    throw new Error(`${path} is no journal of a submission: move it away`);
  }
}

function rejectOther(path: string, first: Entry, submission: Submission): void {
  if (first.is !== 'submission') throw new Error(`${path} is no journal of a submission: move it away`);
  const names = { service: 'service', agent_id: 'agent', webhook: 'webhook' } as const;
  for (const field of ['service', 'agent_id', 'webhook'] as const)
    if (JSON.stringify(first[field]) !== JSON.stringify(submission[field]))
      throw new Error(
        `${path}: this file was submitted with another ${names[field]}; say the same again to go on, ` +
          'or submit the whole file anew with --again',
      );
}
