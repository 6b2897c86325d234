import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import { batchIdIn, type Chat, isResumable, responseIdOf } from '#domain/chats/chat.ts';

/** @param listIndexes of the chat in the lists of `listsOf`; undefined for a chat of an earlier version */
export const chatItem = (chat: Chat, listIndexes?: readonly number[]): Item => ({
  ...keys.chat(chat.workspaceId, chat.id),
  id: chat.id,
  workspace_id: chat.workspaceId,
  agent_id: chat.agentId,
  name: chat.name,
  ...(chat.externalUserId !== null && { external_user_id: chat.externalUserId }),
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
  message_count: chat.messageCount,
  ...(chat.lease !== null && { lease_id: chat.lease.id, lease_until: chat.lease.until }),
  ...(listIndexes !== undefined && { list_indexes: listIndexes }),
  // Only the claim of a batch request creates a chat under a lease. The lease id names the request.
  ...(chat.lease !== null && { created_for: chat.lease.id }),
});

/**
 * What stays of a deleted chat: its id is never used again, and no condition on an agent, a lease or a count is met by
 * it.
 */
export const tombstone = (
  { workspaceId, id, lease }: Chat,
  deletedAt: string,
  createdFor: unknown,
): Item => ({
  ...keys.chat(workspaceId, id),
  id,
  deleted_at: deletedAt,
  ...(createdFor !== undefined && { created_for: createdFor }),
  // No message may ever name the events of the reply in progress.
  ...(lease !== null && isResumable(lease) && { response_id: responseIdOf(lease) }),
});

/** Undefined for no item and for a tombstone. */
export const existingChatOf = (item: Item | undefined): Chat | undefined =>
  item === undefined || item.deleted_at !== undefined ? undefined : chatOf(item);

/** `stop_lease` stays when the lease ends: it has no meaning for another lease. */
const leaseOf = ({ lease_id: id, lease_until: until, stop_lease: stopped }: Item): Chat['lease'] =>
  id === undefined
    ? null
    : { id: id as string, until: until as number, ...(stopped === id && { isStopped: true }) };

export const chatOf = (item: Item): Chat => ({
  id: item.id as number,
  workspaceId: item.workspace_id as string,
  agentId: item.agent_id as string,
  name: item.name as string,
  externalUserId: (item.external_user_id as string | undefined) ?? null,
  createdAt: item.created_at as string,
  updatedAt: item.updated_at as string,
  messageCount: item.message_count as number,
  lease: leaseOf(item),
  ...(item.created_for !== undefined && { batchId: batchIdIn(item.created_for as string) }),
});
