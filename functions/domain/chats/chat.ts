import type { ChatResource } from '#contract/chat.ts';

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
