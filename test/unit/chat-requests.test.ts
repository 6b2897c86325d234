import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import {
  createChat,
  deleteChat,
  findChat,
  listMessages,
  recordFeedback,
  renameChat,
} from '#domain/chats/chats.ts';
import type { SendInput } from '#domain/chats/check-send.ts';
import { messageId } from '#domain/chats/message.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { type MemoryChat, openMemoryChat, workspaceId } from '#support/memory-chat.ts';

let memory: MemoryChat;
beforeEach(async () => {
  memory = await openMemoryChat();
});

const unlimited = async () => undefined;
const limited = async () => {
  throw new Error('Rate limit exceeded');
};
const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: Error) => error.message,
  );
const whitelist = (whitelistEnabled: boolean) => memory.changeWorkspace({ whitelistEnabled });

const ann = { externalUserId: 'ann' };
const fields = { workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: 'ann' };
const create = (
  changes: object = {},
  key: IdempotencyKey | null = null,
  awaitRateLimit: () => Promise<void> = unlimited,
  gateway = memory.keyOf(randomUUID()),
) => createChat(memory.services, { ...fields, ...changes }, { client: key, gateway }, awaitRateLimit);
const countChats = async () =>
  (await memory.services.chats.page({ workspaceId }, { limit: 1, offset: 0, ascending: true })).total;

it('creating a chat is rejected for the first of its faults, and creates nothing', async () => {
  const otherKey = memory.keyOf('used', { fingerprint: 'another request' });
  await memory.services.idempotency.store(otherKey, { is: 'chat', chatId: 9, createdAt: '' });
  const used = memory.keyOf('used');
  const unknown = { agentId: 'unknown-agent' };
  await whitelist(true);
  expect(await messageOf(create(unknown, used, limited))).toContain('is not on the whitelist');
  await memory.services.workspaces.addToWhitelist(workspaceId, ['ann']);
  expect(await messageOf(create(unknown, used, limited))).toContain('was used for another request');
  expect(await messageOf(create(unknown, null, limited))).toBe('Agent not found');
  expect(await messageOf(create({}, null, limited))).toBe('Rate limit exceeded');
  expect(await countChats()).toBe(0);
});

it('a chat of a user is found neither by another one nor without a user, a chat of nobody by all', async () => {
  const outcomesFor = async (owner: string | null) => {
    const { id: chatId } = await memory.createChat({ externalUserId: owner });
    const found = [undefined, 'bob', 'ann'].map((externalUserId) =>
      messageOf(findChat(memory.services, { workspaceId, chatId, externalUserId })),
    );
    return Promise.all(found);
  };
  expect(await outcomesFor('ann')).toEqual(['Chat not found', 'Chat not found', 'done']);
  expect(await outcomesFor(null)).toEqual(['done', 'done', 'done']);
});

it('metadata that is changed meanwhile keeps the pairs of both', async () => {
  const chat = await memory.createChat({ metadata: { gone: '' } });
  const { chats } = memory.services;
  const ofChat = { workspaceId, chatId: chat.id, ...ann };
  const meanwhile = async () => void (await chats.change(chat, { metadata: { a: 'a' } }, chat.createdAt));
  const metadata = { a: 'a', b: 'b' };
  const changed = await renameChat(
    memory.services,
    { ...ofChat, metadata: { b: 'b', gone: null } },
    meanwhile,
  );
  expect([changed.metadata, (await memory.read(chat)).metadata]).toEqual([metadata, metadata]);
});

describe('a chat that is deleted after it was read is not found by', () => {
  it.each<
    [string, (ofChat: { workspaceId: string; chatId: number }, remove: () => Promise<void>) => unknown]
  >([
    ['a rename', (ofChat, remove) => renameChat(memory.services, { ...ofChat, ...ann, name: 'New' }, remove)],
    ['another deletion', (ofChat, remove) => deleteChat(memory.services, { ...ofChat, ...ann }, remove)],
    [
      'a rating',
      ({ chatId, ...ofChat }, remove) => {
        const rating = { messageId: messageId(chatId, 2), type: 'sys_helpful', content: null } as const;
        return recordFeedback(memory.services, { ...ofChat, chatId, ...ann, ...rating }, remove);
      },
    ],
  ])('%s', async (_what, call) => {
    const chat = await memory.createChat();
    await memory.talk(chat, 'Hi');
    const remove = async () => void (await memory.services.chats.delete([chat], chat.createdAt));
    await expect(call({ workspaceId, chatId: chat.id }, remove)).rejects.toThrow('Chat not found');
  });

  it('a history of which nothing was read', async () => {
    const chat = await memory.createChat();
    await memory.talk(chat, 'Hi');
    const range = { limit: 100, offset: 0, ascending: true };
    const { pages } = await listMessages(memory.services, { workspaceId, chatId: chat.id, ...ann, ...range });
    await memory.services.chats.delete([chat], chat.createdAt);
    const purge = { workspaceId, chatId: chat.id, deletedAt: chat.createdAt };
    await memory.services.chatTraces.deleteMessages(purge, () => true);
    await expect(Array.fromAsync(pages)).rejects.toThrow('Chat not found');
  });
});

describe('feedback', () => {
  let chat: Chat;
  beforeEach(async () => {
    chat = await memory.createChat();
    await memory.talk(chat, 'Hi');
  });
  const rate = (changes: object = {}, awaitRateLimit: () => Promise<void> = unlimited) =>
    recordFeedback(
      memory.services,
      {
        ...{ workspaceId, chatId: chat.id, messageId: messageId(chat.id, 2), externalUserId: 'ann' },
        ...{ type: 'sys_helpful', content: null },
        ...changes,
      },
      awaitRateLimit,
    );
  const countsOf = async () => {
    const range = { first: 1, last: 2, ascending: true };
    const pages = await Array.fromAsync(memory.services.messages.range(chat, range));
    return pages.flat().map(({ feedbackCounts }) => feedbackCounts);
  };

  it('is recorded for the stored reply of a turn that is not closed yet', async () => {
    const lease = { id: 'dead', until: 0 };
    const own = await memory.createChat();
    await memory.start(memory.inputOf(own, 'Hi'));
    const second = { chatId: own.id, messageId: messageId(own.id, 2) };
    expect(await messageOf(rate(second))).toBe('Message not found');
    await memory.services.chats.takeOverLease(await memory.read(own), lease);
    await memory.services.messages.put(own, { ...(await replyOf(chat)), content: 'Late' });
    expect(await messageOf(rate(second))).toBe('done');
  });

  it('is rejected for the first of its faults, and records nothing', async () => {
    const other = await memory.createChat({ externalUserId: 'bob' });
    const unknownMessage = { messageId: messageId(chat.id, 3) };
    await whitelist(true);
    expect(await messageOf(rate({ chatId: 999 }, limited))).toContain('is not on the whitelist');
    await whitelist(false);
    expect(await messageOf(rate({ chatId: 999 }, limited))).toBe('Chat not found');
    expect(await messageOf(rate({ chatId: other.id }, limited))).toBe('Chat not found');
    expect(await messageOf(rate(unknownMessage, limited))).toBe('Message not found');
    for (const id of [0, -1, messageId(chat.id, 0), messageId(other.id, 2), 2 ** 53 - 1])
      expect(await messageOf(rate({ messageId: id }))).toBe('Message not found');
    expect(await messageOf(rate({ messageId: messageId(chat.id, 1) }, limited))).toBe(
      'message_id must be the id of an assistant message',
    );
    expect(await messageOf(rate({}, limited))).toBe('Rate limit exceeded');
    expect(await countsOf()).toEqual([{}, {}]);
  });
});

async function replyOf(chat: Chat) {
  const [, reply] = await memory.history(chat);
  if (reply === undefined) throw new Error('The chat has no reply');
  return reply;
}

/** Of the sends. */
let chat: Chat;

interface Send {
  input: SendInput;
  key: IdempotencyKey | null;
  awaitRateLimit: () => Promise<void>;
}

/** Something that is wrong with a send, and the error that it causes. */
interface Fault {
  error: string;
  cause(send: Send): unknown;
}

const fileOf = (uuid: string, changes: Partial<StoredFile> = {}): StoredFile => ({
  ...{ uuid, workspaceId, name: 'a.txt', contentType: 'text/plain', size: 1, scope: 'persistent' },
  ...{ createdAt: memory.clock.now().toISOString(), expiresAt: null },
  ...changes,
});

const faults = {
  workspace: {
    error: 'Access denied',
    cause: ({ input }) => Object.assign(input, { workspaceId: 'ws_unknown' }),
  },
  unlistedUser: {
    error: 'external_user_id is not on the whitelist of this workspace',
    cause: () => memory.changeWorkspace({ whitelistEnabled: true }),
  },
  tooManyFiles: {
    error: 'attached_file_uuids must have at most 2 elements',
    cause: ({ input }) => Object.assign(input, { attachedFileUuids: ['one', 'two', 'three'] }),
  },
  usedKey: {
    error:
      'Idempotency-Key was used for another request, with another path or body; give each request a key of its own',
    async cause(send) {
      const first = memory.keyOf('used', { fingerprint: 'another request' });
      await memory.services.idempotency.store(first, { is: 'turn', chatId: 1, position: 1 });
      send.key = memory.keyOf('used');
    },
  },
  agent: {
    error: 'Agent not found',
    cause: ({ input }) => Object.assign(input, { agentId: 'unknown-agent' }),
  },
  draft: {
    error: 'Agent version not found',
    cause: ({ input }) => Object.assign(input, { agentId: 'draft-agent' }),
  },
  chat: {
    error: 'Chat not found',
    cause: ({ input }) => Object.assign(input, { chatId: 999 }),
  },
  otherUser: {
    error: 'Chat not found',
    cause: ({ input }) => Object.assign(input, { externalUserId: 'bob' }),
  },
  otherAgent: {
    error: 'Agent mismatch',
    cause: ({ input }) => Object.assign(input, { agentId: 'agent-2' }),
  },
  file: {
    error: 'attached_file_uuids[1] is not a file of this workspace',
    async cause({ input }) {
      await memory.services.fileIndex.put(fileOf('stored'));
      input.attachedFileUuids = ['stored', 'unknown'];
    },
  },
  expiredFile: {
    error: 'attached_file_uuids[0] has expired: an ephemeral file is kept for 24 hours',
    async cause({ input }) {
      const expiresAt = memory.clock.now().toISOString();
      await memory.services.fileIndex.put(fileOf('expired', { scope: 'ephemeral', expiresAt }));
      input.attachedFileUuids = ['expired'];
    },
  },
  rateLimit: {
    error: 'Rate limit exceeded',
    cause(send) {
      send.awaitRateLimit = async () => {
        throw new Error('Rate limit exceeded');
      };
    },
  },
  runningReply: {
    error: 'A reply is already in progress for this chat',
    cause: () =>
      memory.services.chats.takeOverLease(chat, {
        id: 'running',
        until: memory.clock.now().getTime() + 1,
      }),
  },
  fullChat: {
    error: `The chat is full: it holds ${limits.messagesOfChat} messages`,
    async cause() {
      await memory.services.chats.takeOverLease(chat, { id: 'filling', until: 0 });
      await memory.services.chats.releaseLease(chat, 'filling', limits.messagesOfChat);
      chat = await memory.read(chat);
    },
  },
} satisfies Record<string, Fault>;

type FaultName = keyof typeof faults;

/** In the order of the checks. */
const withoutFiles: FaultName[] = [
  ...(['workspace', 'unlistedUser', 'usedKey', 'tooManyFiles', 'agent', 'draft', 'rateLimit'] as const),
  ...(['chat', 'otherUser', 'otherAgent', 'runningReply', 'fullChat'] as const),
];
const withFiles: FaultName[] = [
  ...(['agent', 'draft', 'chat', 'otherUser', 'otherAgent', 'file', 'expiredFile'] as const),
  ...(['rateLimit', 'runningReply', 'fullChat'] as const),
];

const newSend = (): Send => ({
  input: memory.inputOf(chat, 'Hi', { externalUserId: 'ann' }),
  key: null,
  awaitRateLimit: async () => undefined,
});

/** The faults from one on, so the error must be the first one's. Earlier faults overwrite the fields of later ones. */
async function sendWith(names: readonly FaultName[]): Promise<unknown> {
  const send = newSend();
  for (const name of names.toReversed()) await (faults[name] as Fault).cause(send);
  const before = await memory.read(chat);
  const error = await memory.send(send.input, send).catch((thrown: unknown) => thrown);
  expect(memory.model.replies).toEqual([]);
  expect(await memory.history(chat)).toEqual([]);
  expect({ ...(await memory.read(chat)), updatedAt: before.updatedAt }).toEqual(before);
  return error;
}

describe.each([
  ['a send', withoutFiles],
  ['a send with files', withFiles],
])('%s', (_what, order) => {
  beforeEach(async () => {
    chat = await memory.createChat({ externalUserId: 'ann' });
  });

  it.each(order.map((name, index) => ({ name, index, error: faults[name].error })))(
    'is rejected for $name before all that follows, and leaves nothing behind',
    async ({ index, error }) => {
      expect(await sendWith(order.slice(index))).toMatchObject({ message: error });
    },
  );
});
