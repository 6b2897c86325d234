import { agentNotFound, chatNotFound } from '#contract/errors.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency-record.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { findWorkspaceFor } from '#domain/workspaces/find-workspace.ts';
import type { Chat } from './chat.ts';
import type { NewChat } from './chat-store.ts';
import type { Services } from './services.ts';

/**
 * Creates a chat bound to an agent of the workspace, published or not (specification, section 3.3).
 * @param keys.client idempotency key: a repeated request gets the chat as it was created
 * @param keys.gateway for a request without an idempotency key: if the gateway repeats it, no second chat is created
 * @throws clientNotAllowed, then badRequest for a key of another request, then notFound `Chat not found` for a
 *   repeated request whose chat was deleted, or `Agent not found`
 */
export async function createChat(
  services: Services<'agents' | 'chats' | 'idempotency' | 'newChats' | 'workspaces'>,
  input: { workspaceId: string; agentId: string; name: string; externalUserId: string | undefined },
  keys: { client: IdempotencyKey | null; gateway: IdempotencyKey },
  awaitRateLimit: AwaitRateLimit,
): Promise<{ chat: Chat; replayed: boolean }> {
  const [, ownerOfAgent, stored] = await Promise.all([
    findWorkspaceFor(services, input.workspaceId, input.externalUserId),
    services.agents.workspaceOf(input.agentId),
    keys.client === null ? undefined : services.idempotency.find(keys.client),
  ]);
  const { externalUserId = null, ...fields } = input;
  const newChat: NewChat = { ...fields, externalUserId };
  const previous = previousWork(stored, keys.client, 'chat');
  if (previous !== undefined) return { chat: await asCreated(services, newChat, previous), replayed: true };
  if (ownerOfAgent !== input.workspaceId) throw agentNotFound();
  await awaitRateLimit();
  const key = keys.client ?? keys.gateway;
  const chat = await services.newChats.createWithKey(newChat, key);
  if (chat !== undefined) return { chat, replayed: false };
  const meanwhile = previousWork(await services.idempotency.find(key), key, 'chat');
  if (meanwhile === undefined) throw new Error('An idempotency key is in use without a record');
  return { chat: await asCreated(services, newChat, meanwhile), replayed: keys.client !== null };
}

/** A repeated request has the same fields, so the record has the id and the time alone. */
async function asCreated(
  { chats }: Services<'chats'>,
  newChat: NewChat,
  { chatId, createdAt }: { chatId: number; createdAt: string },
): Promise<Chat> {
  if ((await chats.get(newChat.workspaceId, chatId)) === undefined) throw chatNotFound();
  return { ...newChat, id: chatId, createdAt, updatedAt: createdAt, messageCount: 0, lease: null };
}
