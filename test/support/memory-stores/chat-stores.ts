import { isDeepStrictEqual } from 'node:util';
import { batchIdIn, type Chat, type Lease } from '#domain/chats/chat.ts';
import type { ChatDeletion, ChatPages, ChatStore, NewChat, NewChatStore } from '#domain/chats/chat-store.ts';
import type { Feedback, FeedbackStore } from '#domain/chats/feedback-store.ts';
import type { Message } from '#domain/chats/message.ts';
import type { MessageStore, RatedMessage } from '#domain/chats/message-store.ts';
import {
  type ErasedCounts,
  type Erasure,
  nothingErased,
  type Purge,
  type PurgeOutbox,
  requeueAfter,
  sumOfErased,
} from '#domain/chats/purge.ts';
import type { ChatTraces } from '#domain/erasure/chat-traces.ts';
import type { Erasures } from '#domain/erasure/services.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { MemoryFileStores } from './file-stores.ts';
import type { MemoryIdempotencyStore } from './idempotency-store.ts';
import { newestMessages } from './newest-messages.ts';
import { pageOf } from './page-of.ts';

interface StoredChat {
  chat: Chat;
  isDeleted: boolean;
  messages: Map<number, Message>;
  /** By position and user. */
  feedback: Map<number, Map<string, Feedback>>;
  /** The last request that took the lease, and the position of its user message. */
  request?: { id: string; startedAt: number };
  isRenamed?: true;
}

/** Of an item of DynamoDB. The texts of a message may be outside of its item. */
const itemBytes = 400_000;
const bytesWithoutTexts = (message: Message): number =>
  Buffer.byteLength(JSON.stringify({ ...message, content: '', reasoningSteps: [] }));

type ChatName = Pick<Chat, 'workspaceId' | 'id'>;

export interface MemoryChatStores {
  chats: ChatDeletion & ChatPages & ChatStore & NewChatStore;
  messages: MessageStore;
  feedback: FeedbackStore;
  chatTraces: ChatTraces;
  purgeOutbox: PurgeOutbox;
  erasures: Erasures;
  /** For the transactions of other stores. */
  add(newChats: readonly (NewChat & { lease: Lease | null })[]): Chat[];
  /** In the order of their ids; undefined for a deleted one. */
  allChats(workspaceId: string): (Chat | undefined)[];
}

export function memoryChatStores(
  clock: Clock,
  idempotency: MemoryIdempotencyStore,
  registeredIn: MemoryFileStores['registeredIn'],
): MemoryChatStores {
  const stored = new StoredChats(clock);
  return {
    chats: { ...chatStore(stored, idempotency), ...chatDeletion(stored) },
    messages: messageStore(stored, idempotency),
    feedback: feedbackStore(stored),
    chatTraces: chatTraces(stored, registeredIn),
    purgeOutbox: purgeOutbox(stored),
    add: (newChats) => newChats.map((newChat) => stored.add(newChat, () => true) as Chat),
    allChats: (workspaceId) =>
      structuredClone(stored.of(workspaceId).map(({ chat, isDeleted }) => (isDeleted ? undefined : chat))),
    erasures: erasures(stored),
  };
}

class StoredChats {
  purges: ((Purge | Erasure) & { dueAt: number; erased?: ErasedCounts })[] = [];
  /** By workspace. The ids of chats have no gaps: a chat's index is its id minus one. */
  private readonly workspaces = new Map<string, StoredChat[]>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  of(workspaceId: string): StoredChat[] {
    const stored = this.workspaces.get(workspaceId) ?? [];
    this.workspaces.set(workspaceId, stored);
    return stored;
  }

  /** Also a deleted one: what was stored for it may still be there. */
  at({ workspaceId, id }: ChatName): StoredChat | undefined {
    return this.of(workspaceId)[id - 1];
  }

  find(name: ChatName): StoredChat | undefined {
    const stored = this.at(name);
    return stored?.isDeleted === false ? stored : undefined;
  }

  /** Undefined if the new chat is not allowed. */
  add(newChat: NewChat & { lease: Lease | null }, isAllowed: (chat: Chat) => boolean): Chat | undefined {
    const stored = this.of(newChat.workspaceId);
    const newest = stored.at(-1)?.chat.createdAt ?? '';
    const [createdAt = ''] = [this.clock.now().toISOString(), newest].sort().reverse();
    const { workspaceId, agentId, name, externalUserId, lease } = newChat;
    const chat: Chat = {
      ...{ workspaceId, agentId, name, externalUserId, lease: structuredClone(lease) },
      ...{ id: stored.length + 1, createdAt, updatedAt: createdAt, messageCount: 0 },
      ...(lease !== null && { batchId: batchIdIn(lease.id) }),
    };
    if (!isAllowed(chat)) return undefined;
    stored.push({ chat, isDeleted: false, messages: new Map(), feedback: new Map() });
    return structuredClone(chat);
  }

  change(chat: Chat, isAllowed: (stored: Chat) => boolean, changes: Partial<Chat>): boolean {
    const stored = this.find(chat);
    if (stored === undefined || !isAllowed(stored.chat)) return false;
    stored.chat = structuredClone({ ...stored.chat, ...changes });
    return true;
  }

  isFree(chat: Chat, position: number): boolean {
    return this.at(chat)?.messages.has(position) === false;
  }

  putMessage(chat: Chat, message: Message): void {
    this.at(chat)?.messages.set(message.position, structuredClone(message));
  }
}

const chatPages = (stored: StoredChats): ChatPages => ({
  async page({ workspaceId, agentId, externalUserId }, page) {
    const listed = stored
      .of(workspaceId)
      .flatMap(({ chat, isDeleted }) => (isDeleted ? [] : [chat]))
      .filter((chat) => agentId === undefined || chat.agentId === agentId)
      .filter((chat) => externalUserId === undefined || chat.externalUserId === externalUserId);
    const ids = listed.map(({ id }) => id);
    const { numbers, ...rest } = pageOf(ids, page);
    const chats = numbers.flatMap((id) => stored.find({ workspaceId, id })?.chat ?? []);
    return { ...rest, chats: structuredClone(chats) };
  },
});

const chatStore = (
  stored: StoredChats,
  idempotency: MemoryIdempotencyStore,
): ChatPages & ChatStore & NewChatStore => ({
  get: async (workspaceId, id) => structuredClone(stored.find({ workspaceId, id })?.chat),
  create: async (newChat) => stored.add({ ...newChat, lease: null }, () => true) as Chat,
  createWithKey: async (newChat, key) =>
    stored.add({ ...newChat, lease: null }, ({ id, createdAt }) =>
      idempotency.add(key, { is: 'chat', chatId: id, createdAt }),
    ),

  ...chatPages(stored),

  async takeLease({ workspaceId, chatId, agentId, externalUserId, lease, now, request }) {
    const found = stored.find({ workspaceId, id: chatId });
    if (found === undefined) return { taken: false, chat: undefined, startedAt: undefined };
    const { chat } = found;
    const isOpen = chat.externalUserId === null || chat.externalUserId === externalUserId;
    const isRepeated = request !== undefined && found.request?.id === request.id;
    const isOther = !isRepeated || request.isFurtherAttempt;
    if (chat.agentId === agentId && isOpen && [undefined, lease.id].includes(chat.lease?.id) && isOther) {
      found.chat = structuredClone({ ...chat, lease, updatedAt: now });
      if (request !== undefined) found.request = { id: request.id, startedAt: chat.messageCount + 1 };
    }
    if (found.chat.lease?.id === lease.id) return { taken: true, chat: structuredClone(found.chat) };
    const startedAt = isRepeated ? found.request?.startedAt : undefined;
    return { taken: false, chat: structuredClone(found.chat), startedAt };
  },

  takeOverLease: async (chat, lease) =>
    stored.change(
      chat,
      (current) =>
        current.lease?.id === lease.id ||
        (current.messageCount === chat.messageCount && isDeepStrictEqual(current.lease, chat.lease)),
      { lease },
    ),

  async openTurn(chat) {
    const messages = stored.at(chat)?.messages;
    return {
      user: messages?.has(chat.messageCount + 1) === true,
      reply: messages?.has(chat.messageCount + 2) === true,
    };
  },

  async renewLease(chat, leaseId, until) {
    const lease = stored.find(chat)?.chat.lease;
    if (lease?.id !== leaseId) return false;
    return lease.isStopped || stored.change(chat, () => true, { lease: { id: leaseId, until } });
  },
  releaseLease: async (chat, leaseId, messageCount) =>
    stored.change(chat, isReleasedBy(chat, leaseId), { lease: null, messageCount }),
  async stopLease(chat, leaseId, until) {
    const lease = stored.find(chat)?.chat.lease;
    if (lease?.id !== leaseId) return false;
    return (
      lease.isStopped || stored.change(chat, () => true, { lease: { id: leaseId, until, isStopped: true } })
    );
  },
  async acknowledgeStop(chat, leaseId, until) {
    stored.change(chat, ({ lease }) => lease?.id === leaseId, {
      lease: { id: leaseId, until, isStopped: true },
    });
  },
  ...names(stored),
});

const isReleasedBy =
  (chat: Chat, leaseId: string) =>
  ({ lease, messageCount }: Chat): boolean =>
    lease?.id === leaseId || (lease === null && messageCount === chat.messageCount);

const names = (stored: StoredChats): Pick<ChatStore, 'rename' | 'setTitle'> => ({
  async rename(chat, name, now) {
    const found = stored.find(chat);
    if (found !== undefined) found.isRenamed = true;
    return stored.change(chat, () => true, { name, updatedAt: now });
  },
  setTitle: async (chat, name, now) =>
    stored.change(chat, () => stored.find(chat)?.isRenamed !== true, { name, updatedAt: now }),
});

const chatDeletion = (stored: StoredChats): ChatDeletion => ({
  delete: async (chats, deletedAt) => deleteChats(stored, chats, deletedAt, { unchanged: false }),
  deleteUnchanged: async (chats, deletedAt) => deleteChats(stored, chats, deletedAt, { unchanged: true }),
  removeCounts: async () => undefined,
});

function deleteChats(
  stored: StoredChats,
  chats: readonly Chat[],
  deletedAt: string,
  { unchanged }: { unchanged: boolean },
): Chat[] {
  return chats.flatMap((chat) => {
    const found = stored.find(chat);
    if (found === undefined || (unchanged && !isDeepStrictEqual(found.chat, chat))) return [];
    found.isDeleted = true;
    const { workspaceId, id: chatId } = chat;
    stored.purges.push({ workspaceId, chatId, deletedAt, dueAt: Date.parse(deletedAt) + requeueAfter });
    return [found.chat];
  });
}

const messageStore = (stored: StoredChats, idempotency: MemoryIdempotencyStore): MessageStore => ({
  async put(chat, message) {
    if (bytesWithoutTexts(message) > itemBytes) throw new NotStorable('A message was rejected');
    if (!stored.isFree(chat, message.position))
      return isDeepStrictEqual(stored.at(chat)?.messages.get(message.position), message);
    stored.putMessage(chat, message);
    return true;
  },

  async putWithKey(chat, message, key) {
    const { position } = message;
    const isUsed = idempotency.findNow(key) !== undefined;
    if (isUsed) return 'key-in-use';
    if (!stored.isFree(chat, position)) return 'position-taken';
    idempotency.add(key, { is: 'turn', chatId: chat.id, position });
    stored.putMessage(chat, message);
    return 'stored';
  },

  async putAndRelease(chat, leaseId, message) {
    const isOwned = isReleasedBy(chat, leaseId);
    const current = stored.find(chat)?.chat;
    if (current === undefined || !isOwned(current)) return 'lease-lost';
    if (!stored.isFree(chat, message.position)) return 'position-taken';
    stored.putMessage(chat, message);
    stored.change(chat, isOwned, { lease: null, messageCount: message.position });
    return 'stored';
  },

  async *range(chat, { first, last, ascending }) {
    const found = stored.at(chat);
    const rated = [...(found?.messages.values() ?? [])]
      .filter(({ position }) => position >= first && position <= last)
      .sort((one, other) => (one.position - other.position) * (ascending ? 1 : -1))
      .map((message): RatedMessage => {
        const counts: Record<string, number> = {};
        for (const { type } of found?.feedback.get(message.position)?.values() ?? [])
          counts[type] = (counts[type] ?? 0) + 1;
        return { message: structuredClone(message), feedbackCounts: counts };
      });
    if (rated.length > 0) yield rated;
  },

  async contentAt(workspaceId, chatId, position) {
    const chat = { workspaceId, id: chatId };
    const message = stored.at(chat)?.messages.get(position);
    if (message === undefined && stored.find(chat) === undefined) return undefined;
    if (message === undefined) throw new Error(`The message ${position} of chat ${chatId} is missing`);
    return message.content;
  },

  async recent(chat, upTo, characters) {
    const last = await upTo;
    const newestFirst = [...(stored.at(chat)?.messages.values() ?? [])]
      .filter(({ position }) => position <= last)
      .sort((one, other) => other.position - one.position);
    return structuredClone(newestMessages(newestFirst, characters));
  },
});

const feedbackStore = (stored: StoredChats): FeedbackStore => ({
  async record(chat, position, given) {
    const ofChat = stored.find(chat)?.feedback;
    const ofMessage = ofChat?.get(position) ?? new Map<string, Feedback>();
    ofChat?.set(position, ofMessage.set(given.externalUserId, structuredClone(given)));
    return ofChat !== undefined;
  },
  async *ofUser({ workspaceId, externalUserId }) {
    yield stored
      .of(workspaceId)
      .filter(({ chat }) => chat.externalUserId === null)
      .flatMap(({ chat, feedback }) =>
        [...feedback].flatMap(([position, ofMessage]) => {
          const given = ofMessage.get(externalUserId);
          return given === undefined ? [] : [{ chatId: chat.id, position, createdAt: given.createdAt }];
        }),
      );
  },
  async remove(chat, position, externalUserId) {
    stored.at(chat)?.feedback.get(position)?.delete(externalUserId);
  },
});

const chatTraces = (stored: StoredChats, registeredIn: MemoryFileStores['registeredIn']): ChatTraces => ({
  async *requests() {},
  removeRequests: async () => undefined,
  deleteMessages: async ({ workspaceId, chatId: id }) =>
    (['messages', 'feedback'] as const).every((kind) => !stored.at({ workspaceId, id })?.[kind].clear()),
  async *files(chat) {
    yield [...registeredIn({ ...chat, id: chat.chatId }).values()];
  },
  removeFiles: async (chat, files) =>
    files.forEach(({ uuid }) => void registeredIn({ ...chat, id: chat.chatId }).delete(uuid)),
});

function purgeOutbox(stored: StoredChats): PurgeOutbox {
  const nameOf = (purge: Purge | Erasure): string =>
    JSON.stringify([
      ...[purge.workspaceId, purge.deletedAt],
      'chatId' in purge ? purge.chatId : purge.externalUserId,
    ]);
  const isSame = (one: Purge | Erasure) => (other: Purge | Erasure) => nameOf(one) === nameOf(other);
  return {
    has: async (purge) => stored.purges.some(isSame(purge)),
    async *pages(deletedUpTo) {
      const found = stored.purges.filter(({ deletedAt }) => deletedAt <= deletedUpTo);
      if (found.length > 0)
        yield structuredClone(found.map(({ erased: _, ...purge }) => purge)).sort((one, other) =>
          one.deletedAt.localeCompare(other.deletedAt),
        );
    },
    async postpone(purge, dueAt, part = {}) {
      const found = stored.purges.find(isSame(purge));
      if (found === undefined) return;
      found.dueAt = dueAt;
      found.erased = sumOfErased(found.erased ?? nothingErased, part);
    },
    async remove(purge) {
      const isOther = isSame(purge);
      stored.purges = stored.purges.filter((other) => !isOther(other));
    },
  };
}

function erasures(stored: StoredChats): Erasures {
  const find = ({ workspaceId, externalUserId }: Person) =>
    stored.purges.find(
      (other) =>
        'externalUserId' in other &&
        other.workspaceId === workspaceId &&
        other.externalUserId === externalUserId,
    );
  return {
    async request(erasure, _actor, part = {}) {
      const replaced = find(erasure);
      stored.purges = stored.purges.filter((other) => other !== replaced);
      const dueAt = Date.parse(erasure.deletedAt) + requeueAfter;
      stored.purges.push({ ...erasure, dueAt, erased: sumOfErased(nothingErased, part) });
    },
    erased: async (person) => structuredClone(find(person)?.erased),
    async add(erasure, part) {
      const found = find(erasure);
      if (found?.deletedAt === erasure.deletedAt)
        found.erased = sumOfErased(found.erased ?? nothingErased, part);
    },
  };
}
