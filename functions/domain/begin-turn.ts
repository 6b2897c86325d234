import {
  agentMismatch,
  agentNotFound,
  agentVersionNotFound,
  chatNotFound,
  ServiceError,
} from '#contract/errors.ts';
import type { AgentVersion } from './agent.ts';
import { type Chat, isOpenTo, type Lease } from './chat.ts';
import { findAttachedFiles } from './find-attached-files.ts';
import { findWorkspaceFor } from './find-workspace.ts';
import { lastPosition, type Message, type UserMessage } from './message.ts';
import type { Services } from './services.ts';
import { settleTurn } from './settle-turn.ts';
import type { StoredFile } from './stored-file.ts';

export interface SendInput {
  workspaceId: string;
  chatId: number;
  agentId: string;
  message: string;
  attachedFileUuids: string[];
  externalUserId: string | undefined;
  /** Resolves when the send is let in, and rejects when it is not: nothing is written before. */
  admitted: Promise<void>;
}

/** A user message that is stored and waits for its reply, under the chat's lease. */
export interface Turn {
  chat: Chat;
  lease: Lease;
  agent: AgentVersion;
  /** Of the user message; the reply's is the next. */
  position: number;
  message: string;
  attachments: StoredFile[];
  history: Message[];
  makesTitle: boolean;
}

type TurnServices = Pick<
  Services,
  'agents' | 'chats' | 'clock' | 'fileIndex' | 'identifiers' | 'messages' | 'replySettings' | 'workspaces'
>;

/**
 * Everything that can refuse a send, in the order of its answers; a refused send leaves nothing behind. Three round
 * trips: who and which agent, beside the key's limit; the lease; the user message beside the history.
 * @throws clientNotAllowed, `Agent not found`, `Agent version not found`, `Chat not found`, `Agent mismatch`,
 *   unknown files, `A reply is already in progress for this chat` (specification, section 7.2)
 */
export const beginTurn =
  (services: TurnServices) =>
  async (input: SendInput): Promise<Turn> => {
    const { attachedFiles } = services.replySettings;
    if (input.attachedFileUuids.length > attachedFiles)
      throw new ServiceError('badRequest', `attached_file_uuids must have at most ${attachedFiles} elements`);
    const [workspace, agent] = await Promise.all([
      findWorkspaceFor(services)(input.workspaceId, input.externalUserId),
      services.agents.published(input.workspaceId, input.agentId),
    ]);
    if (agent === undefined)
      throw (await services.agents.get(input.workspaceId, input.agentId)) === undefined
        ? agentNotFound()
        : agentVersionNotFound();
    const attachments = await attachmentsOf(services, input);
    await input.admitted;

    // A turn is taken again only after one that was given up has been settled, and each settling ends one turn.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const chat = await takeChat(services, input);
      if (chat === undefined) continue;
      const position = chat.messageCount + 1;
      if (position + 1 > lastPosition) {
        await services.chats.releaseLease(chat, chat.lease.id, chat.messageCount);
        throw new ServiceError('badRequest', `The chat is full: it holds ${lastPosition - 1} messages`);
      }
      const characters = agent.definition.meta.max_history_characters;
      const [stored, history] = await storeBesideHistory(
        services,
        chat,
        { role: 'user', position, content: input.message, attachments },
        characters,
      );
      if (stored)
        return {
          chat,
          lease: chat.lease,
          agent,
          position,
          message: input.message,
          attachments,
          history,
          makesTitle: position === 1 && workspace.titlesEnabled,
        };
      await settleTurn(services)(chat);
    }
    throw replyInProgress();
  };

const replyInProgress = () => new ServiceError('badRequest', 'A reply is already in progress for this chat');

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
  const answer = await services.chats.takeLease({ ...input, lease, now: now.toISOString() });
  if (answer.taken) return { ...answer.chat, lease };
  const chat = allowed(answer.chat, input);
  if (chat.lease !== null && chat.lease.until > now.getTime()) throw replyInProgress();
  await settleTurn(services)(chat);
  return undefined;
}

function allowed(chat: Chat | undefined, input: SendInput): Chat {
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();
  if (chat.agentId !== input.agentId) throw agentMismatch();
  return chat;
}

async function storeBesideHistory(
  services: TurnServices,
  chat: Chat & { lease: Lease },
  message: Omit<UserMessage, 'createdAt'>,
  historyCharacters = services.replySettings.historyCharacters,
): Promise<[stored: boolean, history: Message[]]> {
  try {
    return await Promise.all([
      services.messages.put(chat, {
        ...message,
        createdAt: services.clock.now().toISOString(),
      }),
      services.messages.recent(chat, chat.messageCount, historyCharacters),
    ]);
  } catch (error) {
    // What was stored is unknown; if settling fails too, the lease runs out and the next sender settles.
    await settleTurn(services)(chat).catch(() => undefined);
    throw error;
  }
}

async function attachmentsOf(services: TurnServices, input: SendInput): Promise<StoredFile[]> {
  if (input.attachedFileUuids.length === 0) return [];
  const { workspaceId, chatId, attachedFileUuids } = input;
  // Whether the chat is there and the caller's is told before anything of its files.
  allowed(await services.chats.get(workspaceId, chatId), input);
  return findAttachedFiles(services)(workspaceId, attachedFileUuids);
}
