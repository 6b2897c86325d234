import type { ChatResource } from '#contract/chat.ts';
import type { Metadata } from '#contract/metadata.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

/** The chat lease, by which one turn owns the chat. */
export interface Lease {
  id: string;
  /** Milliseconds since the epoch. After this time, another function may close the turn and release the lease. */
  until: number;
  /** Set if a client has asked to stop the reply. */
  isStopped?: true;
}

/**
 * The lease ids of batches start with this prefix. Any other lease id is a UUID, with a prefix of its own if the reply
 * is resumable.
 */
export const batchLeasePrefix = 'batch:';

/** The id of the batch in a lease id that starts with `batchLeasePrefix`. */
export const batchIdIn = (leaseId: string): string =>
  leaseId.slice(batchLeasePrefix.length, leaseId.lastIndexOf(':'));

const resumablePrefix = 'r-';
const responsePrefix = 'resp_';

export const newLeaseId = (uuid: string, { resumable }: { resumable: boolean }): string =>
  resumable ? resumablePrefix + uuid : uuid;

/** Whether the events of the lease's reply are stored. The id of the lease says so, so nothing has to be read. */
export const isResumable = ({ id }: Pick<Lease, 'id'>): boolean => id.startsWith(resumablePrefix);

/** The response id of the reply that has the lease. It contains the id of the lease. */
export const responseIdOf = ({ id }: Pick<Lease, 'id'>): string => responsePrefix + id;

/** The response id that is stored with the reply, so that a repeated send returns it. A reply of a batch has none. */
export const responseIdIn = (lease: Lease): { responseId?: string } =>
  lease.id.startsWith(batchLeasePrefix) ? {} : { responseId: responseIdOf(lease) };

/** The lease id in the response id of a resumable reply. Undefined for any other response id. */
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
   * Number of messages of the turns that have ended: they are at the positions 1 to `messageCount`. The messages of an
   * open turn get the next two positions.
   */
  messageCount: number;
  lease: Lease | null;
  /** The id of the batch whose request created the chat. */
  batchId?: string;
  /** If undefined, there are no pairs. */
  metadata?: Metadata | undefined;
}

/**
 * Whether a user may use a chat. A chat with an external user is open only to that user; a chat without one is open to
 * the whole workspace.
 */
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
  metadata: chat.metadata ?? {},
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
  /** If undefined, there are no pairs. */
  metadata?: Metadata | undefined;
}

export interface LeaseRequest {
  workspaceId: string;
  chatId: number;
  agentId: string;
  externalUserId: string | undefined;
  lease: Lease;
  now: string;
  /**
   * The gateway's request that starts the turn; undefined for a request of a batch. `isFurtherAttempt`: whether this
   * function has acquired the lease for it before.
   */
  request?: { id: string; isFurtherAttempt: boolean } | undefined;
}

/** Creates chats. A store of its own, because few functions need it. */
export interface NewChatStore {
  /** Creates the chat with the next id of its workspace, and adds it to its lists, in one transaction. */
  create(chat: NewChat): Promise<Chat>;
  /**
   * Like `create`, but also stores the idempotency record in the same transaction.
   * @returns undefined if the key is in use; then nothing is created
   */
  createWithKey(chat: NewChat, key: IdempotencyKey): Promise<Chat | undefined>;
}

/** Deletes chats. A store of its own, because few functions need it. */
export interface ChatDeletion {
  /**
   * Deletes chats of one workspace, removes them from their lists, and adds their purges to the outbox. The owner of a
   * chat lease loses it.
   * @returns the chats that this call has deleted, as they were
   */
  delete(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  /** Like `delete`, but leaves out chats that were used or changed since they were read. */
  deleteUnchanged(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  /** Removes a person's chat counts that are 0, because their keys contain the person's id. */
  removeCounts(person: Person): Promise<void>;
}

/** Reads lists of chats. A store of its own, because few functions need it. */
export interface ChatPages {
  /**
   * One page of a list, and the number of all chats in the list. A chat that is deleted during the read may be missing.
   * @returns `ends`: where the page starts and ends in the list, for links to other pages
   */
  page(filter: ChatFilter, page: ListPage): Promise<{ total: number; chats: Chat[]; ends: PageEnds }>;
}

export interface ChatStore {
  get(workspaceId: string, chatId: number): Promise<Chat | undefined>;
  /**
   * Acquires the chat lease. Conditions: the chat belongs to the agent and is open to the user; it has no lease, or
   * this one; and the last gateway request that acquired a lease here was another one, unless this is a further
   * attempt. A lease that has expired still counts as a lease.
   * @returns if taken, the chat with the new lease; otherwise the chat as it is, undefined if it does not exist.
   *   `startedAt`: if the last gateway request was this one, the position for its user message; otherwise undefined
   */
  takeLease(
    request: LeaseRequest,
  ): Promise<
    { taken: true; chat: Chat } | { taken: false; chat: Chat | undefined; startedAt: number | undefined }
  >;
  /** Sets a lease for an abandoned turn. Returns false if the lease or the count has changed since it was read. */
  takeOverLease(chat: Chat, lease: Lease): Promise<boolean>;
  /**
   * Whether the user message and the reply of the open turn are stored. They have the two positions after
   * `messageCount`.
   */
  openTurn(chat: Chat): Promise<{ user: boolean; reply: boolean }>;
  /**
   * Prolongs the lease. The lease of a stopped reply keeps its time. Returns false if the chat does not have this lease
   * any more.
   */
  renewLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /**
   * Asks the owner of the lease to stop its reply, and sets the end of the lease to `until`. A second call changes
   * nothing.
   * @returns false if the chat does not have this lease any more
   */
  stopLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /**
   * Sets the end of the lease of a stopped reply, so that its owner can store the reply. Does nothing if the chat does
   * not have this lease any more.
   */
  acknowledgeStop(chat: Chat, leaseId: string, until: number): Promise<void>;
  /**
   * Releases the lease and sets the number of messages. If the chat has no lease and still the number of `chat`, the
   * number is set too: a turn may have been stored after its lease was released.
   * @returns false if the chat is deleted, has another lease, or has no lease and another number; then nothing changes
   */
  releaseLease(chat: Chat, leaseId: string, messageCount: number): Promise<boolean>;
  /**
   * Sets the name, the metadata, or both. No title replaces this name. An undefined field stays as it is. Changes
   * nothing if the metadata is to be set and other metadata was stored since the chat was read.
   * @returns `isDone`; if it is false, `chat` is the chat as it is now, undefined if it does not exist
   */
  change(
    chat: Chat,
    changes: { name?: string | undefined; metadata?: Metadata | undefined },
    now: string,
  ): Promise<{ isDone: true } | { isDone: false; chat: Chat | undefined }>;
  /** Sets a title as the name. Returns false if the chat was renamed, or does not exist. */
  setTitle(chat: Chat, title: string, now: string): Promise<boolean>;
}
