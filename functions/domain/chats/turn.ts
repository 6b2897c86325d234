import type { AgentVersion } from '#domain/agents/agent.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { Chat, Lease } from './chat.ts';
import type { Message } from './message.ts';

/** A user message that is stored and waits for its reply, under the chat's lease. */
export interface Turn {
  apiKeyId: string;
  chat: Chat;
  lease: Lease;
  agent: AgentVersion;
  /** Of the user message; the reply's is the next. */
  position: number;
  message: string;
  attachments: StoredFile[];
  history: Message[];
  makesTitle: boolean;
}
