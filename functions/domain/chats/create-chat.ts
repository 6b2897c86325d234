import { agentNotFound } from '#contract/errors.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency-record.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Chat } from './chat.ts';
import type { NewChat } from './chat-store.ts';
import type { ChatServices } from './services.ts';

/**
 * Creates a chat bound to an agent of the workspace, published or not (specification, section 3.3).
 * @param key of a request that may be made again: the chat that it has made is told as it was then
 * @throws clientNotAllowed, then badRequest for a key of another request, then notFound `Agent not found`
 */
export const createChat =
  (
    services: Pick<ChatServices, 'chats'> &
      Pick<AgentServices, 'agents'> &
      Pick<WorkspaceServices, 'workspaces'> &
      Pick<PlatformServices, 'idempotency'>,
  ) =>
  async (
    input: {
      workspaceId: string;
      agentId: string;
      name: string;
      externalUserId: string | undefined;
      /** Resolves when the request is let in, and rejects when it is not: nothing is written before. */
      admitted: Promise<void>;
    },
    key: IdempotencyKey | null,
  ): Promise<{ chat: Chat; replayed: boolean }> => {
    const [, agent, stored] = await Promise.all([
      findWorkspaceFor(services)(input.workspaceId, input.externalUserId),
      services.agents.get(input.workspaceId, input.agentId),
      key === null ? undefined : services.idempotency.find(key),
    ]);
    const { admitted, externalUserId = null, ...fields } = input;
    const newChat: NewChat = { ...fields, externalUserId };
    const previous = previousWork(stored, key, 'chat');
    if (previous !== undefined) return { chat: asCreated(newChat, previous), replayed: true };
    if (agent === undefined) throw agentNotFound();
    await admitted;
    if (key === null) return { chat: await services.chats.create(newChat), replayed: false };
    const chat = await services.chats.createWithKey(newChat, key);
    if (chat !== undefined) return { chat, replayed: false };
    const meanwhile = previousWork(await services.idempotency.find(key), key, 'chat');
    if (meanwhile === undefined) throw new Error('A key is in use for nothing');
    return { chat: asCreated(newChat, meanwhile), replayed: true };
  };

/** The same request says the same of the chat, so that its id and time are all that has to be kept. */
const asCreated = (newChat: NewChat, { chatId, createdAt }: { chatId: number; createdAt: string }): Chat => ({
  ...newChat,
  id: chatId,
  createdAt,
  updatedAt: createdAt,
  messageCount: 0,
  lease: null,
});
