import { isDeepStrictEqual } from 'node:util';
import type { Chat, Lease } from '#domain/chats/chat.ts';
import type { ChatStore, NewChat } from '#domain/chats/chat-store.ts';
import type { Feedback, FeedbackStore } from '#domain/chats/feedback-store.ts';
import type { Message } from '#domain/chats/message.ts';
import type { MessageStore, RatedMessage } from '#domain/chats/message-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import type { MemoryIdempotencyStore } from './idempotency-store.ts';
import { newestMessages } from './newest-messages.ts';

interface StoredChat {
  chat: Chat;
  messages: Map<number, Message>;
  /** By position and user. */
  feedback: Map<number, Map<string, Feedback>>;
}

/** Of an item of DynamoDB. The texts of a message may be outside of its item. */
const itemBytes = 400_000;
const bytesWithoutTexts = (message: Message): number =>
  Buffer.byteLength(JSON.stringify({ ...message, content: '', reasoningSteps: [] }));

type ChatName = Pick<Chat, 'workspaceId' | 'id'>;

export interface MemoryChatStores {
  chats: ChatStore;
  messages: MessageStore;
  feedback: FeedbackStore;
  /** For the transactions of other stores. */
  add(newChats: readonly (NewChat & { lease: Lease | null })[]): Chat[];
}

export function memoryChatStores(clock: Clock, idempotency: MemoryIdempotencyStore): MemoryChatStores {
  /** By workspace. The ids of chats have no gaps: a chat's index is its id minus one. */
  const workspaces = new Map<string, StoredChat[]>();
  const storedOf = (workspaceId: string): StoredChat[] => {
    const stored = workspaces.get(workspaceId) ?? [];
    workspaces.set(workspaceId, stored);
    return stored;
  };
  const find = ({ workspaceId, id }: ChatName): StoredChat | undefined => storedOf(workspaceId)[id - 1];
  const changed = (chat: Chat, isAllowed: (stored: Chat) => boolean, changes: Partial<Chat>): boolean => {
    const stored = find(chat);
    if (stored === undefined || !isAllowed(stored.chat)) return false;
    stored.chat = structuredClone({ ...stored.chat, ...changes });
    return true;
  };

  const store = (newChat: NewChat & { lease: Lease | null }, isAllowed: (chat: Chat) => boolean) => {
    const stored = storedOf(newChat.workspaceId);
    const newest = stored.at(-1)?.chat.createdAt ?? '';
    const [createdAt = ''] = [clock.now().toISOString(), newest].sort().reverse();
    const { workspaceId, agentId, name, externalUserId, lease } = newChat;
    const chat: Chat = {
      ...{ workspaceId, agentId, name, externalUserId, lease: structuredClone(lease) },
      ...{ id: stored.length + 1, createdAt, updatedAt: createdAt, messageCount: 0 },
    };
    if (!isAllowed(chat)) return undefined;
    stored.push({ chat, messages: new Map(), feedback: new Map() });
    return structuredClone(chat);
  };
  const add: MemoryChatStores['add'] = (newChats) =>
    newChats.map((newChat) => store(newChat, () => true) as Chat);

  const chats: ChatStore = {
    get: async (workspaceId, id) => structuredClone(find({ workspaceId, id })?.chat),
    create: async (newChat) => add([{ ...newChat, lease: null }])[0] as Chat,
    createWithKey: async (newChat, key) =>
      store({ ...newChat, lease: null }, ({ id, createdAt }) =>
        idempotency.add(key, { is: 'chat', chatId: id, createdAt }),
      ),

    async page({ workspaceId, agentId, externalUserId }, { limit, offset, ascending }) {
      const listed = storedOf(workspaceId)
        .map(({ chat }) => chat)
        .filter((chat) => agentId === undefined || chat.agentId === agentId)
        .filter((chat) => externalUserId === undefined || chat.externalUserId === externalUserId);
      const ordered = ascending ? listed : listed.reverse();
      return { total: listed.length, chats: structuredClone(ordered.slice(offset, offset + limit)) };
    },

    async takeLease({ workspaceId, chatId, agentId, externalUserId, lease, now }) {
      const stored = find({ workspaceId, id: chatId });
      if (stored === undefined) return { taken: false, chat: undefined };
      const { chat } = stored;
      const isOpen = chat.externalUserId === null || chat.externalUserId === externalUserId;
      const mayTake = chat.agentId === agentId && isOpen && chat.lease === null;
      if (mayTake) stored.chat = structuredClone({ ...chat, lease, updatedAt: now });
      return { taken: stored.chat.lease?.id === lease.id, chat: structuredClone(stored.chat) };
    },

    takeOverLease: async (chat, lease) =>
      changed(
        chat,
        (stored) =>
          stored.lease?.id === lease.id ||
          (stored.messageCount === chat.messageCount && isDeepStrictEqual(stored.lease, chat.lease)),
        { lease },
      ),

    async openTurn(chat) {
      const messages = find(chat)?.messages;
      return {
        user: messages?.has(chat.messageCount + 1) === true,
        reply: messages?.has(chat.messageCount + 2) === true,
      };
    },

    renewLease: async (chat, leaseId, until) =>
      changed(chat, ({ lease }) => lease?.id === leaseId, { lease: { id: leaseId, until } }),
    releaseLease: async (chat, leaseId, messageCount) =>
      changed(chat, ({ lease }) => lease?.id === leaseId, { lease: null, messageCount }),
    rename: async (chat, name, now) => void changed(chat, () => true, { name, updatedAt: now }),
  };

  const isFree = (chat: Chat, position: number): boolean => find(chat)?.messages.has(position) === false;
  const storeMessage = (chat: Chat, message: Message) =>
    void find(chat)?.messages.set(message.position, structuredClone(message));

  const messages: MessageStore = {
    async put(chat, message) {
      if (bytesWithoutTexts(message) > itemBytes) throw new NotStorable('A message was rejected');
      if (!isFree(chat, message.position))
        return isDeepStrictEqual(find(chat)?.messages.get(message.position), message);
      storeMessage(chat, message);
      return true;
    },

    async putWithKey(chat, message, key) {
      const { position } = message;
      const isUsed = idempotency.findNow(key) !== undefined;
      if (isUsed) return 'key-in-use';
      if (!isFree(chat, position)) return 'position-taken';
      idempotency.add(key, { is: 'turn', chatId: chat.id, position });
      storeMessage(chat, message);
      return 'stored';
    },

    async putAndRelease(chat, leaseId, message) {
      const isOwned = (stored: Chat | undefined) => stored?.lease?.id === leaseId;
      if (!isOwned(find(chat)?.chat)) return 'lease-lost';
      if (!isFree(chat, message.position)) return 'position-taken';
      storeMessage(chat, message);
      changed(chat, isOwned, { lease: null, messageCount: message.position });
      return 'stored';
    },

    async *range(chat, { first, last, ascending }) {
      const stored = find(chat);
      const rated = [...(stored?.messages.values() ?? [])]
        .filter(({ position }) => position >= first && position <= last)
        .sort((one, other) => (one.position - other.position) * (ascending ? 1 : -1))
        .map((message): RatedMessage => {
          const counts: Record<string, number> = {};
          for (const { type } of stored?.feedback.get(message.position)?.values() ?? [])
            counts[type] = (counts[type] ?? 0) + 1;
          return { message: structuredClone(message), feedbackCounts: counts };
        });
      if (rated.length > 0) yield rated;
    },

    async contentAt(workspaceId, chatId, position) {
      const message = find({ workspaceId, id: chatId })?.messages.get(position);
      if (message === undefined) throw new Error(`The message ${position} of chat ${chatId} is missing`);
      return message.content;
    },

    async recent(chat, upTo, characters) {
      const last = await upTo;
      const newestFirst = [...(find(chat)?.messages.values() ?? [])]
        .filter(({ position }) => position <= last)
        .sort((one, other) => other.position - one.position);
      return structuredClone(newestMessages(newestFirst, characters));
    },
  };

  const feedback: FeedbackStore = {
    async record(chat, position, given) {
      const ofChat = find(chat)?.feedback;
      const ofMessage = ofChat?.get(position) ?? new Map<string, Feedback>();
      ofChat?.set(position, ofMessage.set(given.externalUserId, structuredClone(given)));
    },
  };

  return { chats, messages, feedback, add };
}
