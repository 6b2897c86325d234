import type { BatchStatus } from '#contract/batch-statuses.ts';

/**
 * Every key of the data table. Each partition key starts with its workspace, but for the API key's hash and for the
 * operators' indexes, which no function reads.
 */
export interface Key {
  pk: string;
  sk: string;
}

/** Where a list stands. */
export interface ListKeys {
  head: Key;
  /** The ids at the places 100 × chunk and after. */
  chunk(chunk: number): Key;
}

/** Positions have at most 7 digits (2,097,151), so padded they sort as text. */
const padded = (position: number): string => String(position).padStart(7, '0');

const workspace = (workspaceId: string): string => `W#${workspaceId}`;
const chat = (workspaceId: string, chatId: number): string => `W#${workspaceId}#C#${chatId}`;

/** The chats of a workspace, in ascending ids, that have an agent, a user, or both. */
export type ChatListKind = { agentId?: string | undefined; externalUserId?: string | undefined };

const listAt = (pk: string): ListKeys => ({
  head: { pk, sk: 'HEAD' },
  chunk: (chunk) => ({ pk, sk: `CHUNK#${chunk}` }),
});

const batch = (workspaceId: string, batchId: string): string => `${workspace(workspaceId)}#B#${batchId}`;

/**
 * The items of a batch, and its requests, are spread over so many partitions: workers end hundreds of items a second, and
 * a thousand requests come at once, while a partition takes a thousand write units a second.
 */
export const batchItemPartitions = 10;

const chatList = (workspaceId: string, { agentId, externalUserId }: ChatListKind): string =>
  `${workspace(workspaceId)}#LIST#${agentId ?? ''}#${externalUserId ?? ''}`;

export const keys = {
  apiKey: (hash: string): Key => ({ pk: `KEY#${hash}`, sk: 'KEY' }),
  apiKeyOfWorkspace: (workspaceId: string, keyId: string): Key => ({
    pk: `${workspace(workspaceId)}#KEYS`,
    sk: keyId,
  }),
  workspace: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'WORKSPACE' }),
  whitelistEntry: (workspaceId: string, externalUserId: string): Key => ({
    pk: `${workspace(workspaceId)}#WHITELIST`,
    sk: externalUserId,
  }),
  /** In a partition of its own, since it is written by every request of a busy key; another limit has another bucket. */
  rateBucket: (workspaceId: string, apiKeyId: string, rateClass: string, limit: string): Key => ({
    pk: `${workspace(workspaceId)}#RATE#${apiKeyId}#${rateClass}`,
    sk: limit,
  }),
  agent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `DRAFT#${agentId}`,
  }),
  /** The version that answers, read by every send: in a partition of its agent's own. */
  publishedAgent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: 'PUBLISHED',
  }),
  /** That an agent is published: for the list. */
  publishedEntry: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `PUBLISHED#${agentId}`,
  }),
  agentVersion: (workspaceId: string, agentId: string, version: number): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: `VERSION#${padded(version)}`,
  }),
  /** How many chats the workspace has: the newest chat's id. */
  chatCount: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'CHATS' }),
  chat: (workspaceId: string, chatId: number): Key => ({ pk: chat(workspaceId, chatId), sk: 'CHAT' }),
  chatList: (workspaceId: string, list: ChatListKind): ListKeys => listAt(chatList(workspaceId, list)),
  message: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}`,
  }),
  /** Sorts right behind its message, so that one range holds both. */
  feedbackCounts: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}#FEEDBACK`,
  }),
  feedback: (workspaceId: string, chatId: number, position: number, externalUserId: string): Key => ({
    // The user alone: 256 characters of four bytes are all that a sort key holds.
    pk: `${chat(workspaceId, chatId)}#F#${position}`,
    sk: externalUserId,
  }),
  file: (workspaceId: string, uuid: string): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: 'FILE',
  }),
  /** Which index holds what the workspace knows, and the documents in it. */
  knowledgeHead: (workspaceId: string): Key => ({ pk: `${workspace(workspaceId)}#KNOWLEDGE`, sk: 'HEAD' }),
  knowledgeDocument: (workspaceId: string, documentId: string): Key => ({
    pk: `${workspace(workspaceId)}#KNOWLEDGE`,
    sk: `DOCUMENT#${documentId}`,
  }),
  /** By the hash of an Idempotency-Key: what the request that it names has become. */
  idempotencyKey: (workspaceId: string, hash: string): Key => ({
    pk: `${workspace(workspaceId)}#REQUEST#${hash}`,
    sk: 'REQUEST',
  }),
  /** What a key has used of an agent on a day, `2027-01-31`: one write a turn, of a thousand a second that a partition takes. */
  usage: (workspaceId: string, day: string, apiKeyId: string, agentId: string | null): Key => ({
    pk: `${workspace(workspaceId)}#USAGE`,
    sk: `${day}#${apiKeyId}#${agentId ?? ''}`,
  }),
  batch: (workspaceId: string, batchId: string): Key => ({ pk: batch(workspaceId, batchId), sk: 'BATCH' }),
  /** Whether requests of the batch may be begun: apart from the batch, whose counters change all the time. */
  batchGate: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'GATE',
  }),
  batchManifest: (workspaceId: string, batchId: string, part: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `OUTLINE#${padded(part)}`,
  }),
  /** Requests of a batch, ten in an item. */
  batchRequests: (workspaceId: string, batchId: string, group: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${group % batchItemPartitions}`,
    sk: `GROUP#${padded(group)}`,
  }),
  /** The text of a request whose group is too large for one item. */
  batchText: (workspaceId: string, batchId: string, position: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${position % batchItemPartitions}`,
    sk: `TEXT#${padded(position)}`,
  }),
  batchItem: (workspaceId: string, batchId: string, position: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#I#${position % batchItemPartitions}`,
    sk: padded(position),
  }),
  /** What the end of a batch has to tell to its receiver, and how far that has come. */
  webhookDelivery: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'WEBHOOK',
  }),
  deliveryAttempt: (workspaceId: string, batchId: string, number: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `WEBHOOK-ATTEMPT#${padded(number)}`,
  }),
  /** Batches by creation, or those that ended in a state, by their end. */
  batchList: (workspaceId: string, list: 'all' | BatchStatus): ListKeys =>
    listAt(`${workspace(workspaceId)}#BATCHES#${list}`),
  openBatch: (workspaceId: string, batchId: string): Key => ({
    pk: `${workspace(workspaceId)}#BATCHES#open`,
    sk: batchId,
  }),
  /** All open batches, checked by the reconciler at each of its runs: an index of all workspaces. */
  operatorsOpenBatch: (batchId: string): Key => ({ pk: 'OPERATOR#OPEN-BATCHES', sk: batchId }),
  /** All undelivered webhooks, by workspace and the time at which the next attempt is due. */
  operatorsWebhook: (workspaceId: string, due: string, batchId: string): Key => ({
    pk: 'OPERATOR#WEBHOOKS',
    sk: `${workspaceId}#${due}#${batchId}`,
  }),
  /** The open batch that the reconciler's next run starts with. */
  reconcilerCursor: (): Key => ({ pk: 'OPERATOR#RECONCILER', sk: 'CURSOR' }),
  operatorsBatch: (batchId: string): Key => ({ pk: `OPERATOR#BATCH#${batchId}`, sk: 'BATCH' }),
  /** What operators did, by time: of a workspace, and of all. */
  audit: (workspaceId: string, at: string, id: string): Key => ({
    pk: `${workspace(workspaceId)}#AUDIT`,
    sk: `${at}#${id}`,
  }),
  operatorsAudit: (at: string, id: string): Key => ({ pk: 'OPERATOR#AUDIT', sk: `${at}#${id}` }),
  operatorsWorkspace: (workspaceId: string): Key => ({ pk: 'OPERATOR#WORKSPACES', sk: workspaceId }),
  operatorsAgent: (agentId: string): Key => ({ pk: `OPERATOR#AGENT#${agentId}`, sk: 'AGENT' }),
  operatorsApiKey: (keyId: string): Key => ({ pk: `OPERATOR#KEY#${keyId}`, sk: 'KEY' }),
} as const;
