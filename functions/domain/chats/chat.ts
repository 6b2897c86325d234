import type { ChatResource } from '#contract/chat.ts';
import type { Metadata } from '#contract/metadata.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

export interface Lease {
  id: string;
  /** Epoch milliseconds. After it, another function may close the turn and release the lease. */
  until: number;
  /** Set if a client has asked to stop the reply. */
  isStopped?: true;
}

export const batchLeasePrefix = 'batch:';

export const batchIdIn = (leaseId: string): string =>
  leaseId.slice(batchLeasePrefix.length, leaseId.lastIndexOf(':'));

const resumablePrefix = 'r-';
const responsePrefix = 'resp_';

export const newLeaseId = (uuid: string, { resumable }: { resumable: boolean }): string =>
  resumable ? resumablePrefix + uuid : uuid;

export const isResumable = ({ id }: Pick<Lease, 'id'>): boolean => id.startsWith(resumablePrefix);

export const responseIdOf = ({ id }: Pick<Lease, 'id'>): string => responsePrefix + id;

/** A reply of a batch has no response id. Other replies are stored with theirs, which a repeated send returns. */
export const responseIdIn = (lease: Lease): { responseId?: string } =>
  lease.id.startsWith(batchLeasePrefix) ? {} : { responseId: responseIdOf(lease) };

/** Undefined unless the reply is resumable. */
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
  /** Number of messages of ended turns. The messages of an open turn get the next two positions. */
  messageCount: number;
  lease: Lease | null;
  /** The id of the batch whose request created the chat. */
  batchId?: string;
  metadata?: Metadata | undefined;
}

/** A chat without an external user is open to the whole workspace. */
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

export type ChatKey = Pick<Chat, 'workspaceId' | 'id'>;

export type NewChat = Pick<Chat, 'workspaceId' | 'agentId' | 'name' | 'externalUserId' | 'metadata'>;

export interface ChatOfUser {
  workspaceId: string;
  chatId: number;
  externalUserId: string | undefined;
}

export interface LeaseRequest extends ChatOfUser {
  agentId: string;
  lease: Lease;
  now: string;
  /** Undefined for a request of a batch. `isFurtherAttempt`: this function has acquired the lease for it before. */
  request?: { id: string; isFurtherAttempt: boolean } | undefined;
}

export interface NewChatStore {
  create(chat: NewChat): Promise<Chat>;
  /** Returns undefined if the key is in use; then no chat is created. */
  createWithKey(chat: NewChat, key: IdempotencyKey): Promise<Chat | undefined>;
}

export interface ChatDeletion {
  /** Also adds the purges to the outbox. Returns the chats that this call has deleted, as they were. */
  delete(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  deleteUnchanged(chats: readonly Chat[], deletedAt: string): Promise<Chat[]>;
  /** Removes a person's chat counts that are 0, because their keys contain the person's id. */
  removeCounts(person: Person): Promise<void>;
}

export interface ChatPages {
  /** A chat that is deleted during the read may be missing on the page. */
  page(filter: ChatFilter, page: ListPage): Promise<{ total: number; chats: Chat[]; ends: PageEnds }>;
}

export interface ChatStore {
  get(workspaceId: string, chatId: number): Promise<Chat | undefined>;
  /**
   * Acquires the chat lease if the chat belongs to the agent, is open to the user, and has this lease or none, not even
   * an expired one. The last gateway request that acquired a lease here gets none again, unless `isFurtherAttempt`.
   * @returns `startedAt`: if this gateway request was the last one here, the position for its user message
   */
  takeLease(
    request: LeaseRequest,
  ): Promise<
    { taken: true; chat: Chat } | { taken: false; chat: Chat | undefined; startedAt: number | undefined }
  >;
  /** Sets a lease for an abandoned turn. Returns false if the lease or the count has changed since it was read. */
  takeOverLease(chat: Chat, lease: Lease): Promise<boolean>;
  /** Whether the messages at the two positions after `messageCount` are stored. */
  openTurn(chat: Chat): Promise<{ user: boolean; reply: boolean }>;
  /** The lease of a stopped reply keeps its time. Returns false if the chat does not have this lease any more. */
  renewLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /**
   * Asks the owner of the lease to stop its reply, and sets the end of the lease. A second call changes nothing.
   * Returns false if the chat does not have this lease any more.
   */
  stopLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /** Sets the end of the lease of a stopped reply, so that its owner can store the reply. */
  acknowledgeStop(chat: Chat, leaseId: string, until: number): Promise<void>;
  /**
   * Also sets the count. In a chat without a lease, it sets the count if that is still the count of `chat`: a turn may
   * have been stored after its lease was released. Returns false if nothing was changed.
   */
  releaseLease(chat: Chat, leaseId: string, messageCount: number): Promise<boolean>;
  /**
   * No title replaces a name that was set here. Changes nothing if the metadata is to be set and other metadata was
   * stored since the chat was read.
   */
  change(
    chat: Chat,
    changes: { name?: string | undefined; metadata?: Metadata | undefined },
    now: string,
  ): Promise<{ isDone: true } | { isDone: false; chat: Chat | undefined }>;
  /** Sets a title as the name. Returns false if the chat was renamed, or does not exist. */
  setTitle(chat: Chat, title: string, now: string): Promise<boolean>;
}
