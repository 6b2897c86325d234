import type { BatchServices } from '#domain/batches/batch-store.ts';
import type { ErasedCounts, ErasedPart, Erasure, Purge } from '#domain/chats/purge.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { lastWriteAfter } from '#domain/platform/promises.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

export interface ErasureServices extends BatchServices {
  chatTraces: ChatTraces;
  erasures: Erasures;
  personTraces: PersonTraces;
  retention: Retention;
}

export interface Erasures {
  /**
   * Adds an erasure to the outbox and writes the audit entry, in one transaction. It may be repeated.
   * @param actor of the audit entry
   * @param erased by earlier runs; by default nothing
   */
  request(erasure: Erasure, actor: string, erased?: ErasedPart): Promise<void>;
  /** What all runs of the person's erasure have erased; undefined if none is in the outbox. */
  erased(person: Person): Promise<ErasedCounts | undefined>;
  /** Adds to what the erasure has erased. Does nothing if it has ended. */
  add(erasure: Erasure, erased: ErasedPart): Promise<void>;
}

export interface PersonTraces {
  /**
   * Reads the keys of all items, and erases what is there of the person: also what no list leads to.
   * @param chatIds of the person's deleted chats: whatever else is there of them counts as found
   * @param onFound gets how many were found since the last call
   */
  erase(
    person: Person,
    chatIds: ReadonlySet<number>,
    onFound: (found: number) => Promise<void>,
  ): Promise<{ items: number; found: number }>;
}

/** A walk over the chats of a workspace that deletes unused ones, in the order of their ids. One pass follows another. */
export interface Walk {
  workspaceId: string;
  days: number;
  /** The last chat that the pass has come to; null between two passes. */
  after: number | null;
  /** When it has come so far (ISO 8601); null before the first pass with these days. */
  walkedAt: string | null;
}

export interface Retention {
  /** One of each workspace with retention. */
  walks(): Promise<Walk[]>;
  /**
   * Stores how far the walk is.
   * @returns false, and nothing is stored, if the workspace has other days now, or none
   */
  advance(walk: Walk, after: number | null, at: string): Promise<boolean>;
  /** Those of the chats that requests of open batches are to be sent to. */
  inOpenBatches(workspaceId: string, chatIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** What a use case needs of them. */
export type Services<Name extends keyof ErasureServices> = Pick<ErasureServices, Name>;

/** Milliseconds of one run of a purge or an erasure: deletions of other tenants wait for it in the same queue. */
const runMilliseconds = 30_000;

/**
 * The times of a run.
 * @returns `lastWrite`: nothing that began before the deletion writes after it; `isLast`: the run began after that
 */
export function startRun({ clock }: Services<'clock'>, { deletedAt }: { deletedAt: string }) {
  const start = clock.now().getTime();
  const lastWrite = Date.parse(deletedAt) + lastWriteAfter;
  const hasTime = () => clock.now().getTime() < start + runMilliseconds;
  return { start, lastWrite, isLast: start >= lastWrite, hasTime };
}

const atOnce = 20;

/** Does the works, some of them concurrently. */
export async function inGroups<Work>(
  works: readonly Work[],
  work: (each: Work) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < works.length; first += atOnce)
    await Promise.all(works.slice(first, first + atOnce).map(work));
}

export type FileOfChat = Pick<StoredFile, 'uuid' | 'scope'>;

interface RequestOfChat {
  batchId: string;
  requestIndex: number;
}

/** What is stored of a deleted chat. Each call may be repeated. */
export interface ChatTraces {
  /** The requests of batches that have created the chat, or were sent to it, in pages. */
  requests(chat: Purge): AsyncIterable<RequestOfChat[]>;
  removeRequests(chat: Purge, requests: readonly RequestOfChat[]): Promise<void>;
  /**
   * Deletes messages, with their texts, the events of replies, feedback, and the entries of ratings that users have.
   * @returns false if the time was over before the end
   */
  deleteMessages(chat: Purge, hasTime: () => boolean): Promise<boolean>;
  /** The files that are registered in the chat, in pages. */
  files(chat: Purge): AsyncIterable<FileOfChat[]>;
  removeFiles(chat: Purge, files: readonly FileOfChat[]): Promise<void>;
}

/**
 * Requests the erasure of a person. It starts at once, or when the reconciler enqueues it. A repeated request also erases
 * what the person has done since.
 */
export async function requestErasure(
  services: Services<'clock' | 'erasures' | 'log' | 'purgeQueue'>,
  { workspaceId, externalUserId }: Person,
  actor: string,
): Promise<void> {
  const erasure: Erasure = { workspaceId, externalUserId, deletedAt: services.clock.now().toISOString() };
  await services.erasures.request(erasure, actor);
  try {
    await services.purgeQueue.send([erasure]);
  } catch (error) {
    services.log.warn('An erasure was not enqueued: the reconciler will do so', { error });
  }
}
