import type { ChatResource } from '#contract/chat.ts';
import { eventOf } from '#contract/events.ts';
import type { MessageResource } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { uploadedFileResource } from '#domain/files/attachments.ts';
import type { FileServices } from '#domain/files/files.ts';
import type { PromptMessage } from './agent-runtime.ts';
import { type Chat, type ChatKey, chatResource } from './chat.ts';
import { type AssistantMessage, groupId, type Message, messageId, type RatedMessage } from './message.ts';
import type { ReplyName, Services } from './services.ts';

/** The largest power of two that divides the number of a turn. Infinity for the number 0. */
const roundnessOf = (turn: number): number => (turn === 0 ? Infinity : turn & -turn);

/**
 * The window begins at the turn whose number has the most factors of two, among the turns that leave at least half of
 * the characters. So its start can stay the same for many turns, and a provider that compares prompts from their
 * beginning can use its cache.
 * @param messages oldest first
 * @param turnOf called for user messages in their order
 */
export function stableWindow<Message extends Pick<PromptMessage, 'role' | 'content'>>(
  messages: readonly Message[],
  turnOf: (message: Message) => number,
): Message[] {
  const all = messages.reduce((sum, { content }) => sum + content.length, 0);
  let left = all;
  let first = 0;
  let roundest = 0;
  for (const [index, message] of messages.entries()) {
    if (left < all / 2) break;
    const roundness = message.role === 'user' ? roundnessOf(turnOf(message)) : 0;
    if (roundness > roundest) [first, roundest] = [index, roundness];
    left -= message.content.length;
  }
  return messages.slice(first);
}

/** The number of messages that clients see: those of ended turns, and the stored messages of an open turn. */
export async function countMessages(services: Services<'chats'>, chat: Chat): Promise<number> {
  if (chat.lease === null) return chat.messageCount;
  const turn = await services.chats.openTurn(chat);
  return chat.messageCount + Number(turn.user) + Number(turn.reply);
}

export const replyMeta = ({
  reasoningSteps: reasoning_steps,
  tokenUsage: token_usage,
  error,
  incomplete,
}: Pick<AssistantMessage, 'reasoningSteps' | 'tokenUsage' | 'error' | 'incomplete'>) => ({
  ...{ reasoning_steps, token_usage },
  ...(error !== null && { error }),
  ...(incomplete !== null && { incomplete }),
});

/** Specification, section 2.5. */
export const messageResource = async (
  services: Parameters<typeof uploadedFileResource>[0],
  chatId: number,
  { message, feedbackCounts }: RatedMessage,
): Promise<MessageResource> => ({
  id: messageId(chatId, message.position),
  role: message.role,
  group_id: groupId(chatId, message.position),
  content: message.content,
  meta: message.role === 'user' ? {} : replyMeta(message),
  attached_files:
    message.role === 'user'
      ? await Promise.all(message.attachments.map((file) => uploadedFileResource(services, file)))
      : [],
  feedback_counts: feedbackCounts,
  created_at: message.createdAt,
});

export async function storedText(
  { replyEvents }: Services<'replyEvents'>,
  reply: ReplyName,
): Promise<string> {
  let text = '';
  for await (const { texts } of replyEvents.eventsFrom(reply, 0))
    for (const event of texts.map(eventOf))
      if (event.type === 'response.output_text.delta') text += event.delta;
  return text;
}

/** For the provider's cache, up to half of the characters are left out at the start. */
export const readHistory = async (
  services: Services<'messages' | 'replySettings'>,
  { definition }: AgentVersion,
  chat: ChatKey,
  upTo: number | Promise<number>,
): Promise<Message[]> =>
  stableWindow(
    await services.messages.recent(
      chat,
      upTo,
      definition.meta.max_history_characters ?? services.replySettings.historyCharacters,
    ),
    ({ position }) => (position - 1) / 2,
  );

export type ExportedLine =
  | ({ type: 'chat' } & ChatResource)
  | ({ type: 'message'; chat_id: number } & MessageResource);

const chatsPerPage = 100;

/**
 * Yields the chats, oldest first, each followed by its messages, oldest first.
 * @param filter.externalUserId undefined for all chats, also those without an external user
 */
export async function* exportChats(
  services: Services<'chatPages' | 'chats' | 'clock' | 'messages'> & {
    files: Pick<FileServices['files'], 'address'>;
  },
  filter: { workspaceId: string; externalUserId: string | undefined },
): AsyncGenerator<ExportedLine[]> {
  // If chats are deleted meanwhile, pages at an offset would miss others.
  for (let after: number | null = 0; after !== null; ) {
    const cursor = { isAfter: true, id: after, offset: 0 };
    const order = { limit: chatsPerPage, offset: 0, ascending: true, cursor };
    const page = await services.chatPages.page(filter, order);
    for (const chat of page.chats) {
      yield [{ type: 'chat', ...chatResource(chat) }];
      const last = await countMessages(services, chat);
      for await (const messages of services.messages.range(chat, { first: 1, last, ascending: true }))
        yield await Promise.all(
          messages.map(
            async (rated): Promise<ExportedLine> => ({
              type: 'message',
              chat_id: chat.id,
              ...(await messageResource(services, chat.id, rated)),
            }),
          ),
        );
    }
    after = page.ends.hasMore ? page.ends.last : null;
  }
}
