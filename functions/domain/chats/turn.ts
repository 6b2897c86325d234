import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Chat, Lease } from './chat.ts';
import type { Message } from './message.ts';

/** A user message and the reply to it, while this function owns the lease of their chat. */
export interface Turn {
  apiKeyId: string;
  chat: Chat;
  /** The chat lease. */
  lease: Lease;
  agent: AgentVersion;
  /** Position of the user message. The reply has the next position. */
  position: number;
  message: string;
  attachments: StoredFile[];
  /** Earlier messages, oldest first. */
  history: Message[];
  makesTitle: boolean;
}
