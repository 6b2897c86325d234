import type { Batch } from '#domain/batches/batch.ts';
import type { BatchServices } from '#domain/batches/batch-store.ts';
import type { ErasedCounts, ErasedPart, Erasure, Purge } from '#domain/chats/purge.ts';
import { eraseFile } from '#domain/files/attachments.ts';
import type { StoredFile } from '#domain/files/files.ts';
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
   * No audit entry is written for a person without chats, feedback and requests of batches. It may be repeated.
   * @param erased the counts of earlier runs; by default none
   */
  request(erasure: Erasure, actor: string, erased?: ErasedPart): Promise<void>;
  /** Undefined if no erasure of the person is in the outbox. */
  erased(person: Person): Promise<ErasedCounts | undefined>;
  /** Does nothing if the erasure has ended or was replaced. */
  add(erasure: Erasure, erased: ErasedPart): Promise<void>;
}

export interface PersonTraces {
  /**
   * Reads the keys of all items. Chats, and what deleted chats have left, may be counted without being erased: the next
   * run does that.
   * @param chatIds deleted chats, perhaps also of other users
   * @param onFound called with the number of items that were found since the last call
   */
  erase(
    person: Person,
    chatIds: ReadonlySet<number>,
    onFound: (found: number) => Promise<void>,
  ): Promise<{ items: number; found: number }>;
}

/** Unused chats of a workspace are deleted in passes, in the order of their ids. */
export interface Walk {
  workspaceId: string;
  days: number;
  /** The id of the last chat that the pass has read; null outside of a pass. */
  after: number | null;
  /** ISO 8601; null if no progress was stored since the number of days was set. */
  walkedAt: string | null;
}

export interface Retention {
  walks(): Promise<Walk[]>;
  /** @returns false if the number of days of the workspace has changed, or was removed; then nothing is stored */
  advance(walk: Walk, after: number | null, at: string): Promise<boolean>;
  inOpenBatches(workspaceId: string, chatIds: readonly number[]): Promise<ReadonlySet<number>>;
}

export type Services<Name extends keyof ErasureServices> = Pick<ErasureServices, Name>;

/** A run starts no further page after this time: deletions of other workspaces wait in the same queue. */
const runMilliseconds = 30_000;

/**
 * @returns `start` and `lastWrite` in milliseconds since the epoch. Work that began before the deletion should write
 * nothing after `lastWrite`; `isLast`: whether that time has come
 */
export function startRun({ clock }: Services<'clock'>, { deletedAt }: { deletedAt: string }) {
  const start = clock.now().getTime();
  const lastWrite = Date.parse(deletedAt) + lastWriteAfter;
  const hasTime = () => clock.now().getTime() < start + runMilliseconds;
  return { start, lastWrite, isLast: start >= lastWrite, hasTime };
}

/**
 * The creation of a batch stores its requests, and the entries that name them, in any order before the batch. If an
 * erasure removed an entry before its request is stored, later runs could miss the request.
 */
export const hasAllRequests = async (
  { batches }: Services<'batches'>,
  { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>,
): Promise<boolean> => (await batches.get(workspaceId, id)) !== undefined;

const atOnce = 20;

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
  /** Yields the batch requests that have created the chat, or were made to continue it. */
  requests(chat: Purge): AsyncIterable<RequestOfChat[]>;
  /** Removes the chat's entries of these requests. The requests themselves stay. */
  removeRequests(chat: Purge, requests: readonly RequestOfChat[]): Promise<void>;
  /**
   * Also deletes the events of replies, and feedback.
   * @returns false if `hasTime` returned false before the end
   */
  deleteMessages(chat: Purge, hasTime: () => boolean): Promise<boolean>;
  files(chat: Purge): AsyncIterable<FileOfChat[]>;
  removeFiles(chat: Purge, files: readonly FileOfChat[]): Promise<void>;
}

/** A repeated request also erases what the person has done since the first one. */
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

type EraseChatServices = Services<'batches' | 'chatTraces' | 'requestEraser'> &
  Parameters<typeof eraseFile>[0];

/**
 * Files that another chat attaches stay. It may be repeated, also after a crash.
 * @returns false if `hasTime` returned false before the end
 */
export async function eraseChat(
  services: EraseChatServices,
  purge: Purge,
  { isLast, hasTime }: { isLast: boolean; hasTime: () => boolean },
): Promise<boolean> {
  const { chatTraces, requestEraser } = services;
  const { workspaceId, chatId } = purge;
  for await (const requests of chatTraces.requests(purge)) {
    if (!hasTime()) return false;
    const erased: typeof requests = [];
    await inGroups(requests, async (request) => {
      const batch = { workspaceId, id: request.batchId };
      const isStored = isLast || (await hasAllRequests(services, batch));
      await requestEraser.erase(batch, request.requestIndex);
      if (isStored) erased.push(request);
    });
    await chatTraces.removeRequests(purge, erased);
  }
  if (!(await chatTraces.deleteMessages(purge, hasTime))) return false;
  for await (const files of chatTraces.files(purge)) {
    if (!hasTime()) return false;
    await inGroups(files, (file) => eraseFile(services, { ...file, workspaceId }, chatId));
    // A function may still store the prepared content of an erased file. By these entries, the last run finds the file.
    if (isLast) await chatTraces.removeFiles(purge, files);
  }
  return true;
}

/**
 * Does nothing if the purge has ended. Until `lastWrite`, work that began before the deletion may store something, so
 * another run follows then.
 */
export async function purgeChat(
  services: EraseChatServices & Services<'clock' | 'purgeOutbox' | 'purgeQueue'>,
  purge: Purge,
): Promise<void> {
  const { purgeOutbox, purgeQueue } = services;
  if (!(await purgeOutbox.has(purge))) return;
  const { lastWrite, isLast, hasTime } = startRun(services, purge);
  if (!(await eraseChat(services, purge, { isLast, hasTime }))) await purgeQueue.send([purge]);
  else await (isLast ? purgeOutbox.remove(purge) : purgeOutbox.postpone(purge, lastWrite));
}
