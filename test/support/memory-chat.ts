import { randomUUID } from 'node:crypto';
import { type AgentDefinition, agentDefinition } from '#contract/agent.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { Agent } from '#domain/agents/agent.ts';
import type { AgentServices } from '#domain/agents/agents.ts';
import type { Chat, NewChat } from '#domain/chats/chat.ts';
import type { SendInput } from '#domain/chats/check-send.ts';
import type { Reply } from '#domain/chats/collect-reply.ts';
import type { Message } from '#domain/chats/message.ts';
import { finishTurn, type StartedTurn, startTurn } from '#domain/chats/send-turn.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { watchStops } from '#domain/chats/watch-stops.ts';
import type { FileServices } from '#domain/files/files.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Use } from '#domain/workspaces/usage.ts';
import type { Workspace, WorkspaceChanges } from '#domain/workspaces/workspace.ts';
import { memoryStores } from './dynamo-stores.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { memoryReplyEventStore } from './memory-objects.ts';
import type { Stores } from './open-stores.ts';
import { type ScriptedRuntime, scriptedRuntime } from './scripted-runtime.ts';

export type MemoryServices = Stores &
  PlatformServices &
  Omit<ChatServices, keyof AgentServices | keyof FileServices>;

export type RunningTurn = Extract<StartedTurn, { turn: object }>;

interface SendOptions {
  key?: IdempotencyKey | null;
  /** By default a new one. */
  requestId?: string;
  awaitRateLimit?: () => Promise<void>;
  deadline?: number;
  /** Of this function alone. */
  services?: Partial<MemoryServices>;
}

export const workspaceId = 'ws_1';

export const noClient = { emit: () => undefined, started: () => Promise.resolve(), done: () => undefined };

const unused = (): never => {
  throw new Error('No decision about chats calls this');
};

/** A workspace that nobody has changed since its creation, but for its titles. */
export const sampleWorkspace = (
  id: string,
  createdAt: string,
  changes: Partial<Workspace> = {},
): Workspace => ({
  ...{ id, name: 'A workspace', createdAt, enabled: true, whitelistEnabled: false, titlesEnabled: false },
  ...{ openAiEnabled: false, retentionDays: null, limits: 'default', ownLimits: {} },
  ...changes,
});

/**
 * One workspace with the published agents `agent-1` and `agent-2`, and `draft-agent`, which has no version. A test plays
 * their model. Everything is in memory.
 */
export async function openMemoryChat() {
  const clock = manualClock();
  const model = scriptedRuntime();
  const stores = memoryStores({ clock, actor: () => 'tester' });
  const createdAt = clock.now().toISOString();
  await stores.workspaces.put(sampleWorkspace(workspaceId, createdAt));
  const { createAgent, publish } = agentsOf(stores, createdAt);
  for (const agentId of ['agent-1', 'agent-2']) await publish(agentId);
  await createAgent('draft-agent');
  const { services, uses, logged } = recordingServices(stores, clock, model);
  const memoryChat = {
    ...{ services, clock, model, uses, logged },
    /** Publishes a version with these changes, of an agent that may be new. */
    publish,
    changeWorkspace: (changes: WorkspaceChanges) => stores.workspaces.update(workspaceId, changes),
    createChat: (changes?: Partial<NewChat>) =>
      services.chats.create({
        ...{ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId: null },
        ...changes,
      }),
    inputOf: (chat: Chat, message: string, changes?: Partial<SendInput>): SendInput => ({
      ...{ workspaceId, apiKeyId: 'key-1', chatId: chat.id, agentId: chat.agentId, message },
      ...{ attachedFileUuids: [], externalUserId: undefined, resumable: false },
      ...changes,
    }),
    keyOf: (hash: string, changes?: Partial<IdempotencyKey>): IdempotencyKey => ({
      ...{ workspaceId, hash, fingerprint: 'request', at: clock.now().getTime() },
      ...changes,
    }),
    /** Starts a turn, as one function. */
    send: (
      input: SendInput,
      {
        key = null,
        requestId = randomUUID(),
        awaitRateLimit = async () => undefined,
        deadline = 600_000,
        ...own
      }: SendOptions = {},
    ) =>
      startTurn(
        { ...services, ...own.services },
        input,
        { requestId, key },
        { awaitRateLimit, deadline: () => deadline },
      ),
    /** Starts a turn that has no reply yet. */
    async start(input: SendInput, options?: SendOptions): Promise<RunningTurn> {
      const started = await memoryChat.send(input, options);
      if (!('turn' in started)) throw new Error('The turn has its reply already');
      return started;
    },
    /** Forwards and stores the reply. `started` is that of its sink. */
    async finish(running: RunningTurn, own?: Partial<MemoryServices>, started = noClient.started) {
      const events: StreamEventBody[] = [];
      const sink = { ...noClient, started, emit: (event: StreamEventBody) => void events.push(event) };
      const { reply, finished } = await finishTurn({ ...services, ...own }, running, sink);
      await finished;
      return { reply, events };
    },
    /** Sends a message and finishes its turn. */
    talk: async (chat: Chat, message: string): Promise<{ reply: Reply; events: StreamEventBody[] }> =>
      memoryChat.finish(await memoryChat.start(memoryChat.inputOf(chat, message))),
    async read({ id }: Chat): Promise<Chat> {
      const chat = await services.chats.get(workspaceId, id);
      if (chat === undefined) throw new Error(`Chat ${id} is missing`);
      return chat;
    },
    async history(chat: Chat): Promise<Message[]> {
      const range = { first: 1, last: 1000, ascending: true };
      const pages = await Array.fromAsync(services.messages.range(chat, range));
      return pages.flat().map(({ message }) => message);
    },
    contents: async (chat: Chat): Promise<string[]> =>
      (await memoryChat.history(chat)).map(({ content }) => content),
  };
  return memoryChat;
}

export type MemoryChat = Awaited<ReturnType<typeof openMemoryChat>>;

/** Agents of the workspace, whose definitions are the shortest. */
function agentsOf(stores: Stores, createdAt: string) {
  const createAgent = async (agentId: string): Promise<Agent> => {
    const agent: Agent = {
      ...{ id: agentId, workspaceId, publishState: 'draft', newestVersion: 0, publishedVersionId: null },
      definition: agentDefinition.parse({ name: agentId, llm_model: 'openai:test' }),
      ...{ publishedAt: null, createdAt, updatedAt: createdAt, revision: 1 },
    };
    await stores.agents.create(agent);
    return agent;
  };
  const publish = async (agentId: string, changes?: Partial<AgentDefinition>): Promise<void> => {
    const agent = (await stores.agents.get(workspaceId, agentId)) ?? (await createAgent(agentId));
    await stores.agents.save(agent, {
      ...{ id: `version-of-${agentId}`, agentId, workspaceId, number: 1 },
      definition: { ...agent.definition, ...changes },
      ...{ publishedAt: createdAt, agentCreatedAt: createdAt },
    });
  };
  return { createAgent, publish };
}

/** Services that record what is logged and which usage is counted. */
function recordingServices(stores: Stores, clock: ManualClock, model: ScriptedRuntime) {
  const uses: Use[] = [];
  /** Levels and messages. */
  const logged: string[] = [];
  let uuids = 0;
  const logAs = (level: string) => (message: string) => void logged.push(`${level}: ${message}`);
  const log = { info: logAs('info'), warn: logAs('warn'), error: logAs('error') };
  const services: MemoryServices = {
    ...stores,
    replyEvents: memoryReplyEventStore(),
    chatDeletion: stores.chats,
    chatPages: stores.chats,
    newChats: stores.chats,
    purgeQueue: { send: async () => undefined },
    stops: watchStops({ chats: stores.chats, clock, log }),
    clock,
    random: Math.random,
    agentRuntime: model,
    identifiers: {
      uuid: () => {
        uuids += 1;
        return `uuid-${uuids}`;
      },
      ...{ workspaceId: unused, apiKey: unused, apiKeyId: unused },
    },
    log,
    meter: {
      replied: () => undefined,
      modelFailed: (name, failure) => void logged.push(`meter: ${name} ${failure}`),
      ...{ modelRetried: unused, requestsProcessed: unused, batchEnded: unused, webhookCalled: unused },
      ...{ keyRejected: unused, usageNotCounted: () => void logged.push('meter: usage not counted') },
    },
    replySettings: {
      ...{ streamTimeout: 90_000, lease: 60_000, historyCharacters: 1000, attachedFiles: 2 },
      limits: { modelCalls: 50, toolUses: 30, toolsAtOnce: 4, replyBytes: 1_000_000 },
    },
    usage: {
      ...stores.usage,
      async add(use, day) {
        uses.push(use);
        await stores.usage.add(use, day);
      },
    },
  };
  return { services, uses, logged };
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
