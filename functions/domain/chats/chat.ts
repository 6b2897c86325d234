import type { ChatResource } from '#contract/chat.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

/** The chat lease: a running reply owns its chat until then. */
export interface Lease {
  id: string;
  /** Milliseconds since the epoch. After it, any function may close the turn and release the lease. */
  until: number;
  /** A client has asked to stop the reply. */
  isStopped?: true;
}

/** Lease ids of batches start with this; other lease ids are UUIDs, those of resumable replies with a prefix. */
export const batchLeasePrefix = 'batch:';
/** The batch of a lease id that starts with the prefix. */
export const batchIdIn = (leaseId: string): string =>
  leaseId.slice(batchLeasePrefix.length, leaseId.lastIndexOf(':'));

const resumablePrefix = 'r-';
const responsePrefix = 'resp_';

export const newLeaseId = (uuid: string, { resumable }: { resumable: boolean }): string =>
  resumable ? resumablePrefix + uuid : uuid;

/** Whether the events of the lease's reply are stored. Nothing has to be read to know it. */
export const isResumable = ({ id }: Pick<Lease, 'id'>): boolean => id.startsWith(resumablePrefix);

/** The id of the reply that has the lease, for clients. So what names one reply never means a later one. */
export const responseIdOf = ({ id }: Pick<Lease, 'id'>): string => responsePrefix + id;

/** What the reply of the lease stores, so that a repeated send returns it. Clients cannot repeat a request of a batch. */
export const responseIdIn = (lease: Lease): { responseId?: string } =>
  lease.id.startsWith(batchLeasePrefix) ? {} : { responseId: responseIdOf(lease) };

/** The lease of a resumable reply; undefined for any other id. */
export const leaseIdOf = (responseId: string): string | undefined =>
  responseId.startsWith(responsePrefix + resumablePrefix)
    ? responseId.slice(responsePrefix.length)
    : undefined;

export interface Chat {
  id: number;
  workspaceId: string;
  agentId: string;
  name: string;
  externalUserId: string | null;
  createdAt: string;
  updatedAt: string;
  /**
   * Number of messages of all turns that have ended, at the positions 1 to `messageCount`. While the chat has a lease,
   * the messages of the open turn are at the next two positions.
   */
  messageCount: number;
  lease: Lease | null;
  /** The batch whose request created the chat. */
  batchId?: string;
}

/** A chat with an external user belongs to that user; a chat without one belongs to the whole workspace. */
export const isOpenTo = (chat: Chat, externalUserId: string | undefined): boolean =>
  chat.externalUserId === null || chat.externalUserId === externalUserId;

export const chatResource = (chat: Chat): ChatResource => ({
  id: chat.id,
  name: chat.name,
  meta: {
    external_user_id: chat.externalUserId,
    conversation_agent_id: chat.agentId,
    ...(chat.batchId !== undefined && { batch_id: chat.batchId }),
  },
  external_user_id: chat.externalUserId,
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
});

export interface ChatFilter {
  workspaceId: string;
  agentId?: string | undefined;
  externalUserId?: string | undefined;
}

export interface NewChat {
  workspaceId: string;
  agentId: string;
  name: string;
  externalUserId: string | null;
}

export interface LeaseRequest {
  workspaceId: string;
  chatId: number;
  agentId: string;
  externalUserId: string | undefined;
  lease: Lease;
  now: string;
  /** The request that starts the turn; undefined for the requests of batches, which no gateway repeats. */
  request?: { id: string; isFurtherAttempt: boolean } | undefined;
}

/** Creates chats. Only the functions that do so load it. */
export interface NewChatStore {
  /** Creates the chat with the next id of its workspace, and adds it to every list, in one transaction. */
  create(chat: NewChat): Promise<Chat>;
  /**
   * Also stores the idempotency record, in the same transaction. Undefined, and nothing created, if the key is in use.
   */
  createWithKey(chat: NewChat, key: IdempotencyKey): Promise<Chat | undefined>;
}

/** Deletes chats. Only the functions that do so load it. */
export interface ChatDeletion {
  /**
   * Deletes chats of one workspace, takes them out of every list, and adds their purges to the outbox. The owner of a
   * lease loses it.
   * @returns the chats that this call has deleted, as they were; the others did not exist
   */
  delete(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  /** Like `delete`, but only those chats that nobody has used or renamed since they were read. */
  deleteUnchanged(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  /** Removes a person's counts of 0. Their keys name the person. */
  removeCounts(person: Person): Promise<void>;
}

/** Reads lists of chats. Only the function that does so loads it. */
export interface ChatPages {
  /**
   * One page of a list, and the number of all chats in the list. A chat that is deleted meanwhile may be missing on the
   * page.
   */
  page(filter: ChatFilter, page: ListPage): Promise<{ total: number; chats: Chat[]; ends: PageEnds }>;
}

export interface ChatStore {
  get(workspaceId: string, chatId: number): Promise<Chat | undefined>;
  /**
   * Acquires the chat lease if the chat belongs to the agent, is open to the user, and has no lease or this one, and if
   * the last lease was not for the same request. The last condition does not hold for a further attempt of that request.
   * @returns the chat with the new lease; otherwise the chat as it is, or undefined if there is none, and the position
   *   of the user message of the turn that the same request has started
   */
  takeLease(
    request: LeaseRequest,
  ): Promise<
    { taken: true; chat: Chat } | { taken: false; chat: Chat | undefined; startedAt: number | undefined }
  >;
  /** Replaces the lease of an abandoned turn. False if the chat or its lease has changed since it was read. */
  takeOverLease(chat: Chat, lease: Lease): Promise<boolean>;
  /** Which messages of the open turn are stored. They have the two positions after `messageCount`. */
  openTurn(chat: Chat): Promise<{ user: boolean; reply: boolean }>;
  /** False if the chat has another lease now. The lease of a stopped reply keeps its time. */
  renewLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /**
   * Asks the owner of the lease to stop its reply; until then the lease lasts. If that was asked before, nothing changes.
   * @returns false if the chat has another lease now
   */
  stopLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /** Prolongs the lease of a stopped reply, so that its owner can store it. Does nothing if the chat has another one. */
  acknowledgeStop(chat: Chat, leaseId: string, until: number): Promise<void>;
  /**
   * Releases the lease and sets the count. Also sets the count if the chat has no lease and still the count of `chat`: then
   * a turn was stored after its lease was released. False if the chat has another lease or count now.
   */
  releaseLease(chat: Chat, leaseId: string, messageCount: number): Promise<boolean>;
  /** Names the chat for good: no title replaces it. False if the chat does not exist. */
  rename(chat: Chat, name: string, now: string): Promise<boolean>;
  /** Names the chat by a title. False if the chat was renamed, or does not exist. */
  setTitle(chat: Chat, title: string, now: string): Promise<boolean>;
}
