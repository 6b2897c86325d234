import type { BatchStatus } from '#contract/batch-statuses.ts';

/**
 * A key of the data table. Each partition key starts with the workspace, except those of API keys' hashes, of the
 * reports of slots, and of operators' items (`OPERATOR#…`).
 */
export interface Key {
  pk: string;
  sk: string;
}

export interface ListKeys {
  entry(first: number): Key;
  /** In a partition of their own, so that counts do not take the write units of the entries. */
  count(name: string): Key;
}

/** Padded with zeros, numbers sort as text in numerical order. */
const padded = (position: number): string => String(position).padStart(7, '0');

const tenDigits = (number: number): string => String(number).padStart(10, '0');

const workspace = (workspaceId: string): string => `W#${workspaceId}`;
const chat = (workspaceId: string, chatId: number): string => `W#${workspaceId}#C#${chatId}`;

/**
 * With neither, all chats of the workspace; with an agent alone, all chats of the agent; with a user, all chats of the
 * user, whatever `agentId` is.
 */
export type ChatListKind = { agentId?: string | undefined; externalUserId?: string | undefined };

function chatList(workspaceId: string, { agentId, externalUserId }: ChatListKind): ListKeys {
  const ws = workspace(workspaceId);
  if (externalUserId !== undefined)
    return {
      entry: (first) => ({ pk: `${ws}#USER#${externalUserId}`, sk: `CHAT#${tenDigits(first)}` }),
      // The mark `-N` comes before the user's id, because the id may end with any text.
      count: (sk) => ({ pk: `${ws}#USER-N#${externalUserId}`, sk }),
    };
  const of = agentId === undefined ? '' : `#${agentId}`;
  return {
    entry: (first) => ({ pk: `${ws}#CHATS${of}`, sk: tenDigits(first) }),
    count: (sk) => ({ pk: `${ws}#CHATS-N${of}`, sk }),
  };
}

const batch = (workspaceId: string, batchId: string): string => `${workspace(workspaceId)}#B#${batchId}`;

/** More than one, because a partition takes at most 1,000 write units a second. */
export const batchItemPartitions = 10;

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
  /** In a partition of its own, because a busy API key writes it often. Changed limits have new buckets. */
  rateBuckets: (workspaceId: string, apiKeyId: string, limits: string): Key => ({
    pk: `${workspace(workspaceId)}#RATE#${apiKeyId}`,
    sk: limits,
  }),
  toolSecret: (workspaceId: string, name: string): Key => ({
    pk: `${workspace(workspaceId)}#SECRETS`,
    sk: name,
  }),
  agent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `DRAFT#${agentId}`,
  }),
  /** A copy of the published version: for lists, and for entries (`publishedEntry`) without a version. */
  publishedAgent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: 'PUBLISHED',
  }),
  publishedEntry: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `PUBLISHED#${agentId}`,
  }),
  agentVersion: (workspaceId: string, agentId: string, version: number): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: `VERSION#${padded(version)}`,
  }),
  lastNumber: (workspaceId: string, of: 'CHATS' | 'BATCHES'): Key => ({
    pk: `${workspace(workspaceId)}#IDS`,
    sk: of,
  }),
  chat: (workspaceId: string, chatId: number): Key => ({ pk: chat(workspaceId, chatId), sk: 'CHAT' }),
  chatList,
  message: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}`,
  }),
  /**
   * `last` is the sequence number of the last of the events; without events, it is the next number. Events that are too
   * large for one item have several parts.
   */
  replyEvents: (
    workspaceId: string,
    chatId: number,
    responseId: string,
    last: number,
    part: number,
  ): Key => ({
    pk: `${chat(workspaceId, chatId)}#E#${responseId}`,
    sk: padded(last) + (part === 0 ? '' : `#${padded(part)}`),
  }),
  /** Sorts directly after its message, so that one range query reads both. */
  feedbackCounts: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}#FEEDBACK`,
  }),
  chatBatchRequest: (workspaceId: string, chatId: number, batchId: string, requestIndex: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `BATCH#${batchId}#${requestIndex}`,
  }),
  feedback: (workspaceId: string, chatId: number, position: number, externalUserId: string): Key => ({
    // The sort key is the user alone: an id of 256 characters may have 1,024 bytes, the maximum of a sort key.
    pk: `${chat(workspaceId, chatId)}#F#${position}`,
    sk: externalUserId,
  }),
  file: (workspaceId: string, uuid: string): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: 'FILE',
  }),
  /** In the file's partition, so that a purge of one chat finds the other chats. */
  chatOfFile: (workspaceId: string, uuid: string, chatId: number): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: `CHAT#${chatId}`,
  }),
  fileOfChat: (workspaceId: string, chatId: number, uuid: string): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `FILE#${uuid}`,
  }),
  knowledgeHead: (workspaceId: string): Key => ({ pk: `${workspace(workspaceId)}#KNOWLEDGE`, sk: 'HEAD' }),
  knowledgeDocument: (workspaceId: string, documentId: string): Key => ({
    pk: `${workspace(workspaceId)}#KNOWLEDGE`,
    sk: `DOCUMENT#${documentId}`,
  }),
  idempotencyKey: (workspaceId: string, hash: string): Key => ({
    pk: `${workspace(workspaceId)}#REQUEST#${hash}`,
    sk: 'REQUEST',
  }),
  usage: (
    workspaceId: string,
    day: string,
    apiKeyId: string,
    agentId: string | null,
    processId: string,
  ): Key => ({
    pk: `${workspace(workspaceId)}#USAGE`,
    sk: `${day}#${apiKeyId}#${agentId ?? ''}#${processId}`,
  }),
  batch: (workspaceId: string, batchId: string): Key => ({ pk: batch(workspaceId, batchId), sk: 'BATCH' }),
  batchToken: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'TOKEN',
  }),
  /** A separate item, so that writes of the batch do not pay for the webhook. */
  batchWebhook: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'HOOK',
  }),
  batchFormat: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'FORMAT',
  }),
  batchManifest: (workspaceId: string, batchId: string, part: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `OUTLINE#${padded(part)}`,
  }),
  batchRequests: (workspaceId: string, batchId: string, group: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${group % batchItemPartitions}`,
    sk: `GROUP#${padded(group)}`,
  }),
  batchText: (workspaceId: string, batchId: string, requestIndex: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${requestIndex % batchItemPartitions}`,
    sk: `TEXT#${padded(requestIndex)}`,
  }),
  batchItem: (workspaceId: string, batchId: string, requestIndex: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#I#${requestIndex % batchItemPartitions}`,
    sk: padded(requestIndex),
  }),
  webhookDelivery: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'WEBHOOK',
  }),
  deliveryAttempt: (workspaceId: string, batchId: string, number: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `WEBHOOK-ATTEMPT#${padded(number)}`,
  }),
  batchList: (workspaceId: string, of: 'all' | 'open' | BatchStatus): ListKeys => ({
    entry: (number) => ({ pk: `${workspace(workspaceId)}#BATCHES#${of}`, sk: tenDigits(number) }),
    count: (sk) => ({ pk: `${workspace(workspaceId)}#BATCHES-N#${of}`, sk }),
  }),
  openBatches: (workspaceId: string): Key => ({ pk: `${workspace(workspaceId)}#BATCHES-N#open`, sk: 'OPEN' }),
  operatorsOpenBatch: (batchId: string): Key => ({ pk: 'OPERATOR#OPEN-BATCHES', sk: batchId }),
  operatorsWebhook: (workspaceId: string, due: string, batchId: string): Key => ({
    pk: 'OPERATOR#WEBHOOKS',
    sk: `${workspaceId}#${due}#${batchId}`,
  }),
  userRating: (workspaceId: string, externalUserId: string, chatId: number, position: number): Key => ({
    pk: `${workspace(workspaceId)}#USER#${externalUserId}`,
    sk: `RATING#${chatId}#${position}`,
  }),
  userBatch: (workspaceId: string, externalUserId: string, createdAt: string, batchId: string): Key => ({
    pk: `${workspace(workspaceId)}#USER#${externalUserId}`,
    sk: `BATCH#${createdAt}#${batchId}`,
  }),
  auditKey: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'AUDIT-KEY' }),
  /** In the outbox of purges, before the purges of chats: `#` sorts before a time. */
  operatorsErasure: (workspaceId: string, hash: string): Key => ({
    pk: 'OPERATOR#PURGES',
    sk: `#${workspaceId}#${hash}`,
  }),
  operatorsPurge: (deletedAt: string, workspaceId: string, chatId: number): Key => ({
    pk: 'OPERATOR#PURGES',
    sk: `${deletedAt}#${workspaceId}#${chatId}`,
  }),
  operatorsRetention: (workspaceId: string): Key => ({ pk: 'OPERATOR#RETENTION', sk: workspaceId }),
  slotReport: (process: string): Key => ({ pk: 'SLOTS', sk: process }),
  operatorsBatch: (batchId: string): Key => ({ pk: `OPERATOR#BATCH#${batchId}`, sk: 'BATCH' }),
  audit: (workspaceId: string, at: string, id: string): Key => ({
    pk: `${workspace(workspaceId)}#AUDIT`,
    sk: `${at}#${id}`,
  }),
  operatorsAudit: (at: string, id: string): Key => ({ pk: 'OPERATOR#AUDIT', sk: `${at}#${id}` }),
  operatorsPrices: (): Key => ({ pk: 'OPERATOR#PRICES', sk: 'PRICES' }),
  operatorsWorkspace: (workspaceId: string): Key => ({ pk: 'OPERATOR#WORKSPACES', sk: workspaceId }),
  operatorsAgent: (agentId: string): Key => ({ pk: `OPERATOR#AGENT#${agentId}`, sk: 'AGENT' }),
  operatorsApiKey: (keyId: string): Key => ({ pk: `OPERATOR#KEY#${keyId}`, sk: 'KEY' }),
} as const;
