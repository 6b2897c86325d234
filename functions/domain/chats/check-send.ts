import {
  agentMismatch,
  agentNotFound,
  agentVersionNotFound,
  chatNotFound,
  ServiceError,
} from '#contract/errors.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { findAttachedFiles } from '#domain/files/attachments.ts';
import type { StoredFile } from '#domain/files/files.ts';
import { type IdempotencyKey, previousWork, type Work } from '#domain/platform/idempotency.ts';
import { allEnded } from '#domain/platform/promises.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import type { KeyOwner } from '#domain/workspaces/usage.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { findWorkspaceFor } from '#domain/workspaces/workspaces.ts';
import { requestedForm } from './agent-runtime.ts';
import { type Chat, type ChatOfUser, isOpenTo } from './chat.ts';
import type { ReplyForm } from './reply-form.ts';
import type { Services } from './services.ts';

export interface SendInput extends KeyOwner, ChatOfUser {
  agentId: string;
  message: string;
  attachedFileUuids: string[];
  resumable: boolean;
  responseFormat?: ResponseFormat | undefined;
}

export interface CheckedSend extends SendInput {
  workspace: Workspace;
  /** Undefined if the agent has no published version; only a repeated send can pass the checks then. */
  publishedAgent: AgentVersion | undefined;
  attachments: StoredFile[];
  /** Undefined also if these checks find a repeated send, whose reply may need none. */
  form: ReplyForm | undefined;
  previous: Extract<Work, { is: 'turn' }> | undefined;
}

/**
 * Makes the checks of a send that need no chat lease (specification, section 7.2). Without attached files, only
 * openTurn checks the chat. If `key` has a record, the send needs no agent, chat and files here.
 * @throws accessDenied, clientNotAllowed, badRequest (too many files, a wrong response_format, a key of another
 *   request), `Agent not found`, `Agent version not found`; with attached files `Chat not found`, `Agent mismatch` and
 *   badRequest for an unknown or expired file; rateLimited
 */
export async function checkSend(
  services: Services<
    'agents' | 'chats' | 'clock' | 'fileIndex' | 'idempotency' | 'replySettings' | 'workspaces'
  >,
  input: SendInput,
  key: IdempotencyKey | null,
  awaitRateLimit: AwaitRateLimit,
): Promise<CheckedSend> {
  const [workspace, publishedAgent, record] = await allEnded([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.agents.published(input.workspaceId, input.agentId),
    key === null ? undefined : services.idempotency.find(key),
  ]);
  const previous = previousWork(record, key, 'turn');
  if (previous !== undefined) {
    await awaitRateLimit();
    return { ...input, workspace, publishedAgent, form: undefined, attachments: [], previous };
  }
  const { attachedFiles } = services.replySettings;
  if (input.attachedFileUuids.length > attachedFiles)
    throw new ServiceError('badRequest', `attached_file_uuids must have at most ${attachedFiles} elements`);
  const form = publishedAgent && (await requestedForm(input.responseFormat, publishedAgent));
  const checked = { ...input, workspace, publishedAgent, form };
  await requirePublishedAgent(services, checked);
  const attachments = await findAttachments(services, input);
  await awaitRateLimit();
  return { ...checked, attachments, previous };
}

/** @throws `Agent not found` or `Agent version not found` */
export async function requirePublishedAgent(
  services: Services<'agents'>,
  { workspaceId, agentId, publishedAgent }: Pick<CheckedSend, 'workspaceId' | 'agentId' | 'publishedAgent'>,
): Promise<AgentVersion> {
  if (publishedAgent !== undefined) return publishedAgent;
  const agent = await services.agents.get(workspaceId, agentId);
  throw agent === undefined ? agentNotFound() : agentVersionNotFound();
}

/** @throws `Chat not found` or `Agent mismatch` */
export function requireOwnChat(
  chat: Chat | undefined,
  input: Pick<SendInput, 'agentId' | 'externalUserId'>,
): Chat {
  if (chat === undefined || !isOpenTo(chat, input.externalUserId)) throw chatNotFound();
  if (chat.agentId !== input.agentId) throw agentMismatch();
  return chat;
}

async function findAttachments(
  services: Services<'chats'> & Parameters<typeof findAttachedFiles>[0],
  input: SendInput,
): Promise<StoredFile[]> {
  if (input.attachedFileUuids.length === 0) return [];
  const { workspaceId, chatId, attachedFileUuids } = input;
  // A missing chat is reported before a missing file.
  requireOwnChat(await services.chats.get(workspaceId, chatId), input);
  return findAttachedFiles(services, workspaceId, attachedFileUuids);
}
