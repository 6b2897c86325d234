import type { ChatResource } from '#contract/chat.ts';

/** The lock that a reply in progress holds on its chat. */
export interface Lease {
  id: string;
  /** Milliseconds since the epoch; past it anyone may settle the turn and free the chat. */
  until: number;
}

export interface Chat {
  id: number;
  workspaceId: string;
  agentId: string;
  name: string;
  externalUserId: string | null;
  createdAt: string;
  updatedAt: string;
  /**
   * Messages of the turns that have ended, stored at the positions 1 to `messageCount`. While a lease is on the chat,
   * the messages of its turn may stand at the next two positions.
   */
  messageCount: number;
  lease: Lease | null;
}

/** A chat made with an external user belongs to that user; one made without belongs to the whole workspace. */
export const isOpenTo = (chat: Chat, externalUserId: string | undefined): boolean =>
  chat.externalUserId === null || chat.externalUserId === externalUserId;

export const chatResource = (chat: Chat): ChatResource => ({
  id: chat.id,
  name: chat.name,
  meta: { external_user_id: chat.externalUserId, conversation_agent_id: chat.agentId },
  external_user_id: chat.externalUserId,
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
});
