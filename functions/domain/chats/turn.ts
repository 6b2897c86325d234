import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Chat, Lease } from './chat.ts';
import type { Message } from './message.ts';

/** A user message and the reply to it, while this function owns the lease of their chat. */
export interface Turn {
  apiKeyId: string;
  chat: Chat;
  /** Of the chat. */
  lease: Lease;
  agent: AgentVersion;
  /** Of the user message; the reply's is the next. */
  position: number;
  message: string;
  attachments: StoredFile[];
  /** Earlier messages, oldest first. */
  history: Message[];
  makesTitle: boolean;
}
