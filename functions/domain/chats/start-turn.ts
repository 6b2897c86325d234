import {
  agentMismatch,
  agentNotFound,
  agentVersionNotFound,
  chatNotFound,
  replyInProgress,
  ServiceError,
} from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import { findAttachedFiles } from '#domain/files/find-attached-files.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency-record.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import { type Chat, isOpenTo, type Lease } from './chat.ts';
import { closeAbandonedTurn } from './close-abandoned-turn.ts';
import { continueTurn } from './continue-turn.ts';
import { type AssistantMessage, lastPosition, type Message, type UserMessage } from './message.ts';
import type { ChatServices } from './services.ts';
import type { RunningReply } from './start-reply.ts';
import type { Turn } from './turn.ts';

export interface SendInput {
  workspaceId: string;
  /** Whose usage it is. */
  apiKeyId: string;
  chatId: number;
  agentId: string;
  message: string;
  attachedFileUuids: string[];
  externalUserId: string | undefined;
  /** Resolves when the send is let in, and rejects when it is not: nothing is written before. */
  admitted: Promise<void>;
}

/** A turn to answer, whose reply the model has been asked for. */
export interface StartedTurn {
  turn: Turn;
  running: RunningReply;
}

/** A turn to answer, or the reply that it has already. */
export type StartedOrReplied = StartedTurn | { reply: AssistantMessage };

type TurnServices = Pick<ChatServices, 'chats' | 'messages' | 'replySettings'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<AgentServices, 'agents'> &
  Pick<WorkspaceServices, 'workspaces'> &
  Pick<PlatformServices, 'clock' | 'identifiers' | 'idempotency'>;

/**
 * Everything that can refuse a send, in the order of its answers; a refused send leaves nothing behind. Three round
 * trips: who and which agent, beside the key's limit; the lease, beside the history; the user message, beside the model,
 * which is heard only when the message is stored.
 * @param ask asks the model for the reply, when all but the storing of the user message is done; given up when that fails
 * @param key of a request that may be made again: it finds the turn that it has begun, and goes on with it
 * @throws clientNotAllowed, a key of another request, `Agent not found`, `Agent version not found`, `Chat not found`,
 *   `Agent mismatch`,
 *   unknown files, `A reply is already in progress for this chat` (specification, section 7.2)
 */
export const startTurn =
  (services: TurnServices) =>
  async (
    input: SendInput,
    key: IdempotencyKey | null,
    startReply: (turn: Turn) => RunningReply,
  ): Promise<StartedOrReplied> => {
    const [workspace, published, stored] = await Promise.all([
      findWorkspaceFor(services)(input.workspaceId, input.externalUserId),
      services.agents.published(input.workspaceId, input.agentId),
      key === null ? undefined : services.idempotency.find(key),
    ]);
    const { attachedFiles } = services.replySettings;
    if (input.attachedFileUuids.length > attachedFiles)
      throw new ServiceError('badRequest', `attached_file_uuids must have at most ${attachedFiles} elements`);
    const publishedVersion = async (): Promise<AgentVersion> => {
      if (published !== undefined) return published;
      const agent = await services.agents.get(input.workspaceId, input.agentId);
      throw agent === undefined ? agentNotFound() : agentVersionNotFound();
    };
    const goOn = async (previous: { chatId: number; position: number }): Promise<StartedOrReplied> => {
      const found = await continueTurn(services)({
        workspace,
        apiKeyId: input.apiKeyId,
        ...previous,
        publishedVersion,
      });
      return 'turn' in found ? { ...found, running: startReply(found.turn) } : found;
    };
    const previous = previousWork(stored, key, 'turn');
    if (previous !== undefined) {
      await input.admitted;
      return goOn(previous);
    }
    const agent = await publishedVersion();
    const attachments = await attachmentsOf(services, input);
    await input.admitted;

    const characters = agent.definition.meta.max_history_characters;
    // A turn is taken again only after one that was given up has been settled, and each settling ends one turn.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { chat, reading } = await takeChatWithHistory(
        services,
        input,
        characters ?? services.replySettings.historyCharacters,
      );
      if (chat === undefined) continue;
      const position = chat.messageCount + 1;
      if (position + 1 > lastPosition) {
        await Promise.all([services.chats.releaseLease(chat, chat.lease.id, chat.messageCount), reading]);
        throw new ServiceError('badRequest', `The chat is full: it holds ${lastPosition - 1} messages`);
      }
      const message: UserMessage = {
        role: 'user',
        position,
        content: input.message,
        attachments,
        createdAt: services.clock.now().toISOString(),
      };
      const [outcome, running] = await storeWhileCalling(
        services,
        chat,
        () => storeUserMessage(services, chat, message, key),
        async () => {
          const turn: Turn = {
            apiKeyId: input.apiKeyId,
            chat,
            lease: chat.lease,
            agent,
            position,
            message: input.message,
            attachments,
            history: await reading,
            makesTitle: position === 1 && workspace.titlesEnabled,
          };
          return { turn, running: startReply(turn) };
        },
      );
      if (outcome === 'done') return running;
      await running.running.abort();
      await closeAbandonedTurn(services)(chat);
      if (outcome === 'place taken' || key === null) continue;
      const meanwhile = previousWork(await services.idempotency.find(key), key, 'turn');
      if (meanwhile !== undefined) return goOn(meanwhile);
    }
    throw replyInProgress();
  };

/** @returns no chat when its abandoned turn was in the way and has been settled */
async function takeChatWithHistory(
  services: TurnServices,
  input: SendInput,
  characters: number,
): Promise<{ chat: (Chat & { lease: Lease }) | undefined; reading: Promise<Message[]> }> {
  const taking = takeChat(services, input);
  const reading = services.messages.recent(
    { workspaceId: input.workspaceId, id: input.chatId },
    taking.then((chat) => chat?.messageCount ?? 0),
    characters,
  );
  // Whether it fails is heard of where it is awaited.
  reading.catch(() => undefined);
  try {
    const chat = await taking;
    if (chat === undefined) await reading;
    return { chat, reading };
  } catch (error) {
    // In Lambda nothing goes on behind the function's end.
    await reading.catch(() => undefined);
    throw error;
  }
}

/** The chat under a new lease; undefined when an abandoned turn was in the way and has been settled. */
async function takeChat(
  services: TurnServices,
  input: SendInput,
): Promise<(Chat & { lease: Lease }) | undefined> {
  const now = services.clock.now();
  const lease: Lease = {
    id: services.identifiers.uuid(),
    until: now.getTime() + services.replySettings.lease,
  };
  const response = await services.chats.takeLease({ ...input, lease, now: now.toISOString() });
  if (response.taken) return { ...response.chat, lease };
  const chat = allowed(response.chat, input);
  if (chat.lease !== null && chat.lease.until > now.getTime()) throw replyInProgress();
  await closeAbandonedTurn(services)(chat);
  return undefined;
}

function allowed(chat: Chat | undefined, input: SendInput): Chat {
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();
  if (chat.agentId !== input.agentId) throw agentMismatch();
  return chat;
}

/** The model may be asked in vain, and is given up then: whatever fails, nobody has heard of its reply. */
async function storeWhileCalling(
  services: TurnServices,
  chat: Chat & { lease: Lease },
  store: () => Promise<'done' | 'place taken' | 'key in use'>,
  startReply: () => Promise<StartedTurn>,
): Promise<[outcome: 'done' | 'place taken' | 'key in use', running: StartedTurn]> {
  const [stored, running] = await Promise.allSettled([store(), startReply()]);
  if (stored.status === 'fulfilled' && running.status === 'fulfilled') return [stored.value, running.value];
  if (running.status === 'fulfilled') await running.value.running.abort();
  // What was stored is unknown; if settling fails too, the lease runs out and the next sender settles.
  await closeAbandonedTurn(services)(chat).catch(() => undefined);
  throw stored.status === 'rejected' ? stored.reason : (running as PromiseRejectedResult).reason;
}

async function storeUserMessage(
  services: TurnServices,
  chat: Chat,
  message: UserMessage,
  key: IdempotencyKey | null,
): Promise<'done' | 'place taken' | 'key in use'> {
  if (key !== null) return services.messages.putWithKey(chat, message, key);
  return (await services.messages.put(chat, message)) ? 'done' : 'place taken';
}

async function attachmentsOf(services: TurnServices, input: SendInput): Promise<StoredFile[]> {
  if (input.attachedFileUuids.length === 0) return [];
  const { workspaceId, chatId, attachedFileUuids } = input;
  // Whether the chat is there and the caller's is told before anything of its files.
  allowed(await services.chats.get(workspaceId, chatId), input);
  return findAttachedFiles(services)(workspaceId, attachedFileUuids);
}
