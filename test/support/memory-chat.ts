import { agentDefinition } from '#contract/agent.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import type { SendInput } from '#domain/chats/check-send.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import type { Message } from '#domain/chats/message.ts';
import { finishTurn, type StartedTurn, startTurn } from '#domain/chats/send-turn.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Use } from '#domain/workspaces/usage.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { memoryStores } from './memory-stores/memory-stores.ts';
import { type ScriptedRuntime, scriptedRuntime } from './scripted-runtime.ts';

export type MemoryServices = ChatServices &
  PlatformServices &
  Pick<AgentServices, 'agents'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<WorkspaceServices, 'workspaces' | 'usage'>;

export type RunningTurn = Extract<StartedTurn, { turn: object }>;

interface SendOptions {
  key?: IdempotencyKey | null;
  awaitRateLimit?: () => Promise<void>;
  deadline?: number;
  /** Of this function alone. */
  services?: Partial<MemoryServices>;
}

export interface MemoryChat {
  services: MemoryServices;
  clock: ManualClock;
  model: ScriptedRuntime;
  /** A test changes its fields. */
  workspace: Workspace;
  listedUsers: Set<string>;
  /** The published version of `agent-1`; `agent-2` has one too, `draft-agent` has none. A test changes its definition. */
  agent: AgentVersion;
  files: Map<string, StoredFile>;
  uses: Use[];
  /** Levels and messages. */
  logged: string[];
  createChat(changes?: Partial<NewChat>): Promise<Chat>;
  inputOf(chat: Chat, message: string, changes?: Partial<SendInput>): SendInput;
  keyOf(hash: string, changes?: Partial<IdempotencyKey>): IdempotencyKey;
  /** Starts a turn, as one function. */
  send(input: SendInput, options?: SendOptions): Promise<StartedTurn>;
  /** Starts a turn that has no reply yet. */
  start(input: SendInput, options?: SendOptions): Promise<RunningTurn>;
  /** Forwards and stores the reply. */
  finish(
    started: RunningTurn,
    services?: Partial<MemoryServices>,
  ): Promise<{ reply: Reply; events: StreamEventBody[] }>;
  /** Sends a message and finishes its turn. */
  talk(chat: Chat, message: string): Promise<{ reply: Reply; events: StreamEventBody[] }>;
  read(chat: Chat): Promise<Chat>;
  history(chat: Chat): Promise<Message[]>;
  contents(chat: Chat): Promise<string[]>;
}

export const workspaceId = 'ws_1';

const unused = (): never => {
  throw new Error('No decision about chats calls this');
};

/** One workspace with published agents, whose model a test plays. Everything is in memory. */
export function openMemoryChat(): MemoryChat {
  const clock = manualClock();
  const model = scriptedRuntime();
  const createdAt = clock.now().toISOString();
  const workspace: Workspace = {
    ...{ id: workspaceId, name: 'A workspace', enabled: true, whitelistEnabled: false, titlesEnabled: false },
    ...{ limits: 'default', ownLimits: {}, createdAt },
  };
  const versionOf = (agentId: string): AgentVersion => ({
    ...{ id: `version-of-${agentId}`, agentId, workspaceId, number: 1 },
    definition: agentDefinition.parse({ name: agentId, llm_model: 'openai:test' }),
    ...{ publishedAt: createdAt, agentCreatedAt: createdAt },
  });
  const agent = versionOf('agent-1');
  const versions = new Map([agent, versionOf('agent-2')].map((version) => [version.agentId, version]));
  const drafts = new Set([...versions.keys(), 'draft-agent']);
  const listedUsers = new Set<string>();
  const files = new Map<string, StoredFile>();
  const uses: Use[] = [];
  const logged: string[] = [];
  let uuids = 0;
  const logAs = (level: string) => (message: string) => void logged.push(`${level}: ${message}`);
  const services: MemoryServices = {
    ...memoryStores({ clock, actor: () => 'tester' }),
    clock,
    agentRuntime: model,
    identifiers: {
      uuid: () => {
        uuids += 1;
        return `uuid-${uuids}`;
      },
      ...{ workspaceId: unused, apiKey: unused, apiKeyId: unused },
    },
    log: { info: logAs('info'), warn: logAs('warn'), error: logAs('error') },
    meter: {
      replied: () => undefined,
      modelFailed: (name, failure) => void logged.push(`meter: ${name} ${failure}`),
      ...{ modelRetried: unused, requestsWorked: unused, batchEnded: unused, webhookCalled: unused },
      ...{ keyRejected: unused, usageNotCounted: () => void logged.push('meter: usage not counted') },
    },
    replySettings: {
      ...{ streamTimeout: 90_000, lease: 60_000, historyCharacters: 1000, attachedFiles: 2 },
      limits: { modelCalls: 50, toolUses: 30, toolsAtOnce: 4, replyBytes: 1_000_000 },
    },
    agents: {
      get: async (_, agentId) => (drafts.has(agentId) ? ({ id: agentId } as Agent) : undefined),
      published: async (_, agentId) => versions.get(agentId),
      ...{ listPublished: unused, list: unused, workspaceOf: unused, create: unused, save: unused },
    },
    fileIndex: {
      put: unused,
      get: async (_, uuid) => files.get(uuid),
    },
    workspaces: {
      get: async (id) => (id === workspaceId ? { ...workspace } : undefined),
      isListed: async (_, user) => listedUsers.has(user),
      ...{ put: unused, update: unused, list: unused, addToWhitelist: unused, removeFromWhitelist: unused },
    },
    usage: { add: async (use) => void uses.push(use), between: unused },
  };

  const memoryChat: MemoryChat = {
    ...{ services, clock, model, workspace, listedUsers, agent, files, uses, logged },
    createChat: (changes) =>
      services.chats.create({
        ...{ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null },
        ...changes,
      }),
    inputOf: (chat, message, changes) => ({
      ...{ workspaceId, apiKeyId: 'key-1', chatId: chat.id, agentId: chat.agentId, message },
      ...{ attachedFileUuids: [], externalUserId: undefined },
      ...changes,
    }),
    keyOf: (hash, changes) => ({
      ...{ workspaceId, hash, fingerprint: 'request', at: clock.now().getTime() },
      ...changes,
    }),
    send: (input, { key = null, awaitRateLimit = async () => undefined, deadline = 600_000, ...own } = {}) =>
      startTurn({ ...services, ...own.services })(input, key, { awaitRateLimit, deadline: () => deadline }),
    async start(input, options) {
      const started = await memoryChat.send(input, options);
      if (!('turn' in started)) throw new Error('The turn has its reply already');
      return started;
    },
    async finish(started, own) {
      const events: StreamEventBody[] = [];
      const sink = { emit: (event: StreamEventBody) => void events.push(event), done: () => undefined };
      const { reply, finished } = await finishTurn({ ...services, ...own })(started, sink);
      await finished;
      return { reply, events };
    },
    talk: async (chat, message) =>
      memoryChat.finish(await memoryChat.start(memoryChat.inputOf(chat, message))),
    async read({ id }) {
      const chat = await services.chats.get(workspaceId, id);
      if (chat === undefined) throw new Error(`Chat ${id} is missing`);
      return chat;
    },
    async history(chat) {
      const range = { first: 1, last: 1000, ascending: true };
      const pages = await Array.fromAsync(services.messages.range(chat, range));
      return pages.flat().map(({ message }) => message);
    },
    contents: async (chat) => (await memoryChat.history(chat)).map(({ content }) => content),
  };
  return memoryChat;
}

/** Delays the first call until `open` is called; `arrived` resolves when it waits. */
export function delayedCall<Inputs extends unknown[], Value>(call: (...inputs: Inputs) => Promise<Value>) {
  const arrived = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let isFirst = true;
  return {
    arrived: arrived.promise,
    open: opened.resolve,
    async call(...inputs: Inputs): Promise<Value> {
      if (isFirst) {
        isFirst = false;
        arrived.resolve();
        await opened.promise;
      }
      return call(...inputs);
    },
  };
}
