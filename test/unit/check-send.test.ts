import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { SendInput } from '#domain/chats/check-send.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { type MemoryChat, openMemoryChat, workspaceId } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat({ externalUserId: 'ann' });
});

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
  it.each(order.map((name, index) => ({ name, index, error: faults[name].error })))(
    'is rejected for $name before all that follows, and leaves nothing behind',
    async ({ index, error }) => {
      expect(await sendWith(order.slice(index))).toMatchObject({ message: error });
    },
  );
});
