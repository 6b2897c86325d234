import { replyInProgress } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import type { Chat, Lease } from './chat.ts';
import type { AssistantMessage, Message } from './message.ts';
import type { ChatServices } from './services.ts';
import type { Turn } from './turn.ts';

type ContinueServices = Pick<ChatServices, 'chats' | 'messages' | 'replySettings'> &
  Pick<PlatformServices, 'clock' | 'identifiers'>;

/** Each look ends with an answer, or somebody else has moved the turn on since: its holder, or one who settles it. */
const checksOfTurn = 5;

/**
 * Goes on with a turn that an earlier request has begun: its reply when it has one, whole or not; the turn itself, under a
 * new lease, when its holder has died. Nothing is stored twice: the user message stands, and the reply has one place.
 * @param answering the agent's published version, or why there is none; asked for only when a reply is still to be had
 * @throws `A reply is already in progress for this chat` as long as its holder lives
 */
export const continueTurn =
  (services: ContinueServices) =>
  async ({
    workspace,
    apiKeyId,
    chatId,
    position,
    publishedVersion,
  }: {
    workspace: Workspace;
    apiKeyId: string;
    chatId: number;
    position: number;
    publishedVersion: () => Promise<AgentVersion>;
  }): Promise<{ turn: Turn } | { reply: AssistantMessage }> => {
    for (let attempt = 1; attempt <= checksOfTurn; attempt += 1) {
      const chat = await services.chats.get(workspace.id, chatId);
      if (chat === undefined) throw new Error(`The chat ${chatId} of a kept request is missing`);
      const { user, reply } = await messagesOf(services, chat, position);
      if (reply !== undefined) return { reply };
      const now = services.clock.now().getTime();
      if (chat.lease !== null && chat.lease.until > now) throw replyInProgress();
      const agent = await publishedVersion();
      const history = await services.messages.recent(
        chat,
        position - 1,
        agent.definition.meta.max_history_characters ?? services.replySettings.historyCharacters,
      );
      const lease: Lease = { id: services.identifiers.uuid(), until: now + services.replySettings.lease };
      if (chat.messageCount !== position - 1 || !(await services.chats.takeOverLease(chat, lease))) continue;
      return {
        turn: {
          apiKeyId,
          chat: { ...chat, lease },
          lease,
          agent,
          position,
          message: user.content,
          attachments: user.attachments,
          history,
          makesTitle: position === 1 && workspace.titlesEnabled,
        },
      };
    }
    throw replyInProgress();
  };

async function messagesOf(services: ContinueServices, chat: Chat, position: number) {
  const range = { first: position, last: position + 1, ascending: true };
  const pages = await Array.fromAsync(services.messages.range(chat, range));
  const messages = pages.flat().map(({ message }): Message => message);
  const user = messages.find((message) => message.role === 'user');
  if (user === undefined) throw new Error(`A message of chat ${chat.id} that a request has kept is missing`);
  return { user, reply: messages.find((message) => message.role === 'assistant') };
}
