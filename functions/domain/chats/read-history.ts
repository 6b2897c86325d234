import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from './chat.ts';
import type { Message } from './message.ts';
import type { Services } from './services.ts';

/**
 * The newest messages up to a position, as many as the agent's or the stage's limit of characters allows.
 * @param upTo as of `MessageStore.recent`
 */
export const readHistory = (
  services: Services<'messages' | 'replySettings'>,
  { definition }: AgentVersion,
  chat: Pick<Chat, 'workspaceId' | 'id'>,
  upTo: number | Promise<number>,
): Promise<Message[]> =>
  services.messages.recent(
    chat,
    upTo,
    definition.meta.max_history_characters ?? services.replySettings.historyCharacters,
  );
