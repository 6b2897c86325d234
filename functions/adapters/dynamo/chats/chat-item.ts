import { keys } from '#adapters/dynamo/table/keys.ts';
import { attributesNamed, changing, type Item } from '#adapters/dynamo/table/table.ts';
import type { Metadata } from '#contract/metadata.ts';
import { batchIdIn, type Chat } from '#domain/chats/chat.ts';

export const leaseItem = (lease: Chat['lease']): Item => ({ lease_id: lease?.id, lease_until: lease?.until });

/** As one JSON text, because marshalling may fail for an object that has the key `constructor`. */
export const metadataItem = (metadata: Metadata | undefined): Item => ({
  metadata: metadata && JSON.stringify(metadata),
});

export const metadataOf = ({ metadata }: Item): { metadata?: Metadata } =>
  metadata === undefined ? {} : { metadata: JSON.parse(metadata as string) };

const chats = attributesNamed<Omit<Chat, 'lease' | 'batchId' | 'metadata'>>({
  id: ['id'],
  workspaceId: ['workspace_id'],
  agentId: ['agent_id'],
  name: ['name'],
  externalUserId: ['external_user_id', null],
  createdAt: ['created_at'],
  updatedAt: ['updated_at'],
  messageCount: ['message_count'],
});

/** @param entry the first id of the creation, which is in the keys of the list entries */
export const chatItem = (chat: Chat, entry: number): Item => ({
  ...keys.chat(chat.workspaceId, chat.id),
  ...chats.itemOf(chat),
  ...leaseItem(chat.lease),
  ...metadataItem(chat.metadata),
  entry,
  // Only the claim of a batch request creates a chat under a lease. The lease id names the request.
  ...(chat.lease !== null && { created_for: chat.lease.id }),
});

/** `stop_lease` stays in the item after its lease has ended. */
const leaseOf = ({ lease_id: id, lease_until: until, stop_lease: stopped }: Item): Chat['lease'] =>
  id === undefined
    ? null
    : { id: id as string, until: until as number, ...(stopped === id && { isStopped: true }) };

export const chatOf = (item: Item): Chat => ({
  ...chats.fieldsOf(item),
  lease: leaseOf(item),
  ...metadataOf(item),
  ...(item.created_for !== undefined && { batchId: batchIdIn(item.created_for as string) }),
});

export const releasing = (chat: Chat, leaseId: string, messageCount: number) => ({
  Key: keys.chat(chat.workspaceId, chat.id),
  ...changing(
    { message_count: messageCount, lease_id: null, lease_until: null },
    { ':lease': leaseId, ':before': chat.messageCount },
  ),
  ConditionExpression: 'lease_id = :lease OR (attribute_not_exists(lease_id) AND message_count = :before)',
});
