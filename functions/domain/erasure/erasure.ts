import type { Batch } from '#domain/batches/batch.ts';
import type { BatchServices } from '#domain/batches/batch-store.ts';
import type { ErasedCounts, ErasedPart, Erasure, Purge } from '#domain/chats/purge.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { lastWriteAfter } from '#domain/platform/promises.ts';
import { groupsOf } from '#domain/platform/services.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

export interface ErasureServices extends BatchServices {
  chatTraces: ChatTraces;
  erasures: Erasures;
  personTraces: PersonTraces;
  retention: Retention;
}

export interface Erasures {
  /**
   * Adds an erasure to the outbox and writes the audit entry, in one transaction. For a person without chats, feedback
   * and requests of batches, no audit entry is written. It may be repeated.
   * @param actor the actor of the audit entry
   * @param erased counts of earlier runs, with which the counts of this erasure start; by default none
   */
  request(erasure: Erasure, actor: string, erased?: ErasedPart): Promise<void>;
  /** The counts of all runs of the person's erasure. Undefined if none is in the outbox. */
  erased(person: Person): Promise<ErasedCounts | undefined>;
  /** Adds to the counts of the erasure. Does nothing if the erasure has ended or was replaced. */
  add(erasure: Erasure, erased: ErasedPart): Promise<void>;
}

export interface PersonTraces {
  /**
   * Reads the keys of all items, and erases what it finds of the person, also what is in no list. Chats, and what
   * deleted chats have left, may only count as found: the next run erases them.
   * @param chatIds deleted chats, at least those of the person: items of these chats that still exist count as found
   * @param onFound called with the number of items that were found since the last call
   * @returns `items`: number of all items whose keys were read; `found`: number of the found items
   */
  erase(
    person: Person,
    chatIds: ReadonlySet<number>,
    onFound: (found: number) => Promise<void>,
  ): Promise<{ items: number; found: number }>;
}

/**
 * The progress of the deletion of unused chats in a workspace. It reads the chats in the order of their ids, in one
 * pass after another.
 */
export interface Walk {
  workspaceId: string;
  /** Chats that were not used for this number of days are deleted. */
  days: number;
  /** The id of the last chat that the pass has read; null between two passes. */
  after: number | null;
  /** When the walk stored its progress last (ISO 8601); null if it has stored none since the number of days was set. */
  walkedAt: string | null;
}

export interface Retention {
  /** The walks of all workspaces that delete unused chats. */
  walks(): Promise<Walk[]>;
  /**
   * Stores the progress of a walk.
   * @param at the time of this progress, ISO 8601
   * @returns false if the number of days of the workspace has changed, or was removed; then nothing is stored
   */
  advance(walk: Walk, after: number | null, at: string): Promise<boolean>;
  /** Returns the ids of those given chats that requests of open batches continue. */
  inOpenBatches(workspaceId: string, chatIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** The named services: those that a use case needs. */
export type Services<Name extends keyof ErasureServices> = Pick<ErasureServices, Name>;

/**
 * Milliseconds after which a run of a purge or an erasure starts no further page. Deletions of other workspaces wait in
 * the same queue.
 */
const runMilliseconds = 30_000;

/**
 * Determines the times of a run that starts now.
 * @returns in milliseconds since the epoch `start`, the time of the start, and `lastWrite`: work that began before the
 *   deletion writes nothing after this time; `isLast`: whether this time has come; `hasTime`: returns whether the run
 *   may start a further page
 */
export function startRun({ clock }: Services<'clock'>, { deletedAt }: { deletedAt: string }) {
  const start = clock.now().getTime();
  const lastWrite = Date.parse(deletedAt) + lastWriteAfter;
  const hasTime = () => clock.now().getTime() < start + runMilliseconds;
  return { start, lastWrite, isLast: start >= lastWrite, hasTime };
}

/**
 * Whether the creation of a batch has stored all its requests. It stores them, and the entries that name them, in any
 * order before the batch. If an erasure removed an entry before its request is stored, no later run would find the
 * request.
 */
export const hasAllRequests = async (
  { batches }: Services<'batches'>,
  { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>,
): Promise<boolean> => (await batches.get(workspaceId, id)) !== undefined;

const atOnce = 20;

/** Does the work for each element, in groups of 20: each group starts when the one before it has ended. */
export async function inGroups<Work>(
  works: readonly Work[],
  work: (each: Work) => Promise<unknown>,
): Promise<void> {
  for (const group of groupsOf(works, atOnce)) await Promise.all(group.map(work));
}

export type FileOfChat = Pick<StoredFile, 'uuid' | 'scope'>;

interface RequestOfChat {
  batchId: string;
  requestIndex: number;
}

/** The stored data of a deleted chat. Each call may be repeated. */
export interface ChatTraces {
  /** Yields the requests of batches that have created the chat, or were made to continue it, in pages. */
  requests(chat: Purge): AsyncIterable<RequestOfChat[]>;
  /** Removes the chat's entries of these requests. The requests themselves stay. */
  removeRequests(chat: Purge, requests: readonly RequestOfChat[]): Promise<void>;
  /**
   * Deletes messages, with their texts, the events of replies, and feedback, with the entries of the users who gave it.
   * @returns false if `hasTime` returned false before the end
   */
  deleteMessages(chat: Purge, hasTime: () => boolean): Promise<boolean>;
  /** Yields the files that are registered in the chat, in pages. */
  files(chat: Purge): AsyncIterable<FileOfChat[]>;
  /** Removes the entries that `files` yields. The files themselves stay. */
  removeFiles(chat: Purge, files: readonly FileOfChat[]): Promise<void>;
}

/**
 * Requests the erasure of a person. The erasure is enqueued at once, or later by the reconciler. A repeated request
 * also erases what the person has done since the first one.
 */
export async function requestErasure(
  services: Services<'clock' | 'erasures' | 'log' | 'purgeQueue'>,
  { workspaceId, externalUserId }: Person,
  actor: string,
): Promise<void> {
  const erasure: Erasure = { workspaceId, externalUserId, deletedAt: services.clock.now().toISOString() };
  await services.erasures.request(erasure, actor);
  await services.purgeQueue
    .send([erasure])
    .catch((error: unknown) =>
      services.log.warn('An erasure was not enqueued: the reconciler will do so', { error }),
    );
}
