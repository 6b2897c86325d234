import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import type { Chat, Lease } from './chat.ts';

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
}

export interface ChatStore {
  get(workspaceId: string, chatId: number): Promise<Chat | undefined>;
  /** Gives the chat the next id of its workspace and its place in every list, in one transaction. */
  create(chat: NewChat): Promise<Chat>;
  /** The same, and the key of its request is kept with it. Undefined when the key is in use: then nothing is made. */
  createWithKey(chat: NewChat, key: IdempotencyKey): Promise<Chat | undefined>;
  /** One page of a list, and how many chats the list has in all. */
  page(
    filter: ChatFilter,
    page: { limit: number; offset: number; ascending: boolean },
  ): Promise<{ total: number; chats: Chat[] }>;
  /**
   * Takes the reply lease when the chat is the agent's, open to the user, and free.
   * @returns the chat with the new lease, or the chat as it stands when it was refused (undefined: there is none).
   */
  takeLease(
    request: LeaseRequest,
  ): Promise<{ taken: true; chat: Chat } | { taken: false; chat: Chat | undefined }>;
  /** Takes the lease of a turn that its holder has given up. False when anything of chat or lease has changed since. */
  takeOverLease(chat: Chat, lease: Lease): Promise<boolean>;
  /** Which of the two messages of the turn behind the last one that ended are stored. */
  openTurn(chat: Chat): Promise<{ user: boolean; reply: boolean }>;
  /** False when the lease is no longer the holder's. */
  renewLease(chat: Chat, leaseId: string, until: number): Promise<boolean>;
  /** Frees the chat and sets its count. False when the lease was no longer the holder's. */
  releaseLease(chat: Chat, leaseId: string, messageCount: number): Promise<boolean>;
  rename(chat: Chat, name: string, now: string): Promise<void>;
}
