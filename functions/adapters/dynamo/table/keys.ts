import type { BatchStatus } from '#contract/batch-statuses.ts';

/**
 * A key of the data table. Each partition key starts with the workspace, with three exceptions: the hash of an API key,
 * the reports of slots, and the operators' indexes (`OPERATOR#…`).
 */
export interface Key {
  pk: string;
  sk: string;
}

/** The keys of a list (adapters/dynamo/table/lists.ts). */
export interface ListKeys {
  /** The key of an entry, by the lowest number of its creation. */
  entry(first: number): Key;
  /**
   * The key of one of the counts. They have a partition of their own, so that they do not take the write units of the
   * entries.
   */
  count(name: string): Key;
}

/** Positions have at most 7 digits (2,097,151). Padded with zeros, they sort as text in numerical order. */
const padded = (position: number): string => String(position).padStart(7, '0');

/** Numbers of lists have at most 10 digits (2^32 - 1). */
const tenDigits = (number: number): string => String(number).padStart(10, '0');

const workspace = (workspaceId: string): string => `W#${workspaceId}`;
const chat = (workspaceId: string, chatId: number): string => `W#${workspaceId}#C#${chatId}`;

/** Names a list of chats: all of the workspace, those of an agent, or those of a user. */
export type ChatListKind = { agentId?: string | undefined; externalUserId?: string | undefined };

function chatList(workspaceId: string, { agentId, externalUserId }: ChatListKind): ListKeys {
  const ws = workspace(workspaceId);
  if (externalUserId !== undefined)
    return {
      entry: (first) => ({ pk: `${ws}#USER#${externalUserId}`, sk: `CHAT#${tenDigits(first)}` }),
      // The mark of a count, `-N`, is before the user, because a user's id may have any character and so may end with
      // any mark.
      count: (sk) => ({ pk: `${ws}#USER-N#${externalUserId}`, sk }),
    };
  const of = agentId === undefined ? '' : `#${agentId}`;
  return {
    entry: (first) => ({ pk: `${ws}#CHATS${of}`, sk: tenDigits(first) }),
    count: (sk) => ({ pk: `${ws}#CHATS-N${of}`, sk }),
  };
}

const batch = (workspaceId: string, batchId: string): string => `${workspace(workspaceId)}#B#${batchId}`;

/**
 * The number of partitions for the items of a batch, and for its requests. One partition takes at most 1,000 write
 * units a second, and up to 1,000 requests are stored at once.
 */
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
  /**
   * Has its own partition, because a busy key writes it often. The limits are a part of the key, so changed limits have
   * buckets of their own.
   */
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
  /**
   * A copy of the published version, for lists, for index entries that name no version, and for code of earlier
   * releases that does not read versions.
   */
  publishedAgent: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: 'PUBLISHED',
  }),
  /**
   * Index entry of a published agent. Unless an earlier release wrote it, it names the version, so that a process that
   * has cached the version reads only this entry.
   */
  publishedEntry: (workspaceId: string, agentId: string): Key => ({
    pk: `${workspace(workspaceId)}#AGENTS`,
    sk: `PUBLISHED#${agentId}`,
  }),
  agentVersion: (workspaceId: string, agentId: string, version: number): Key => ({
    pk: `${workspace(workspaceId)}#AGENT#${agentId}`,
    sk: `VERSION#${padded(version)}`,
  }),
  /** The last number that was taken for a chat, or for a batch, of the workspace. */
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
   * Events of a resumable reply, by the sequence number of the last of them. Only events that are too large for one
   * item have further parts.
   */
  replyEvents: (
    workspaceId: string,
    chatId: number,
    responseId: string,
    last: number,
    part: number,
  ): Key => ({
    pk: `${chat(workspaceId, chatId)}#E#${responseId}`,
    sk: padded(last) + (part === 0 ? '' : `#${part}`),
  }),
  /** Sorts directly after its message, so that one range query reads both. */
  feedbackCounts: (workspaceId: string, chatId: number, position: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `M#${padded(position)}#FEEDBACK`,
  }),
  /** Names a batch request in an existing chat, so that a purge of the chat finds the request's text. */
  chatBatchRequest: (workspaceId: string, chatId: number, batchId: string, requestIndex: number): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `BATCH#${batchId}#${requestIndex}`,
  }),
  feedback: (workspaceId: string, chatId: number, position: number, externalUserId: string): Key => ({
    // The sort key is the user alone: 256 characters of 4 bytes are the maximum of a sort key, 1,024 bytes.
    pk: `${chat(workspaceId, chatId)}#F#${position}`,
    sk: externalUserId,
  }),
  file: (workspaceId: string, uuid: string): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: 'FILE',
  }),
  /** A chat that the file is attached in. In the file's partition, so that a purge finds other chats. */
  chatOfFile: (workspaceId: string, uuid: string, chatId: number): Key => ({
    pk: `${workspace(workspaceId)}#FILE#${uuid}`,
    sk: `CHAT#${chatId}`,
  }),
  /** A file that is attached in the chat. In the chat's partition, so that a purge finds the files. */
  fileOfChat: (workspaceId: string, chatId: number, uuid: string): Key => ({
    pk: chat(workspaceId, chatId),
    sk: `FILE#${uuid}`,
  }),
  /** Names the workspace's current index object. The documents' items are in the same partition. */
  knowledgeHead: (workspaceId: string): Key => ({ pk: `${workspace(workspaceId)}#KNOWLEDGE`, sk: 'HEAD' }),
  knowledgeDocument: (workspaceId: string, documentId: string): Key => ({
    pk: `${workspace(workspaceId)}#KNOWLEDGE`,
    sk: `DOCUMENT#${documentId}`,
  }),
  /** The idempotency record, by the hash of the Idempotency-Key. */
  idempotencyKey: (workspaceId: string, hash: string): Key => ({
    pk: `${workspace(workspaceId)}#REQUEST#${hash}`,
    sk: 'REQUEST',
  }),
  /** The usage that a process has counted of an API key and agent on a day, such as `2027-01-31`. */
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
  /** The newest task token of the workflow, and when the workflow entered the state that waits with it. */
  batchToken: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'TOKEN',
  }),
  /** The settings of the webhook. They are a separate item, so that the writes of the batch do not pay for them. */
  batchWebhook: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'HOOK',
  }),
  /** The `response_format` of all requests, as JSON text. */
  batchFormat: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'FORMAT',
  }),
  batchManifest: (workspaceId: string, batchId: string, part: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `OUTLINE#${padded(part)}`,
  }),
  /** A request group: up to ten requests of a batch. */
  batchRequests: (workspaceId: string, batchId: string, group: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${group % batchItemPartitions}`,
    sk: `GROUP#${padded(group)}`,
  }),
  /** The text of a request whose group is too large for one item. */
  batchText: (workspaceId: string, batchId: string, requestIndex: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#REQUESTS#${requestIndex % batchItemPartitions}`,
    sk: `TEXT#${padded(requestIndex)}`,
  }),
  batchItem: (workspaceId: string, batchId: string, requestIndex: number): Key => ({
    pk: `${batch(workspaceId, batchId)}#I#${requestIndex % batchItemPartitions}`,
    sk: padded(requestIndex),
  }),
  /** The delivery of a batch's final event, with its state. */
  webhookDelivery: (workspaceId: string, batchId: string): Key => ({
    pk: batch(workspaceId, batchId),
    sk: 'WEBHOOK',
  }),
  deliveryAttempt: (workspaceId: string, batchId: string, number: number): Key => ({
    pk: batch(workspaceId, batchId),
    sk: `WEBHOOK-ATTEMPT#${padded(number)}`,
  }),
  /** The list of all batches, of the open ones, or of those with one final status, in order of creation. */
  batchList: (workspaceId: string, of: 'all' | 'open' | BatchStatus): ListKeys => ({
    entry: (number) => ({ pk: `${workspace(workspaceId)}#BATCHES#${of}`, sk: tenDigits(number) }),
    count: (sk) => ({ pk: `${workspace(workspaceId)}#BATCHES-N#${of}`, sk }),
  }),
  /** The exact number of open batches. Each creation and each end changes it. */
  openBatches: (workspaceId: string): Key => ({ pk: `${workspace(workspaceId)}#BATCHES-N#open`, sk: 'OPEN' }),
  /** Index of the open batches of all workspaces, for the reconciler. */
  operatorsOpenBatch: (batchId: string): Key => ({ pk: 'OPERATOR#OPEN-BATCHES', sk: batchId }),
  /** The reconciler's index of webhooks, by workspace and the time of its next check. */
  operatorsWebhook: (workspaceId: string, due: string, batchId: string): Key => ({
    pk: 'OPERATOR#WEBHOOKS',
    sk: `${workspaceId}#${due}#${batchId}`,
  }),
  /** A person's rating in a chat without an external user. Ratings in the person's own chats are found by the chats. */
  userRating: (workspaceId: string, externalUserId: string, chatId: number, position: number): Key => ({
    pk: `${workspace(workspaceId)}#USER#${externalUserId}`,
    sk: `RATING#${chatId}#${position}`,
  }),
  /** The requests of a person in a batch, so that an erasure finds them. */
  userBatch: (workspaceId: string, externalUserId: string, createdAt: string, batchId: string): Key => ({
    pk: `${workspace(workspaceId)}#USER#${externalUserId}`,
    sk: `BATCH#${createdAt}#${batchId}`,
  }),
  /** The secret key of the hashes that replace the ids of external users in the audit log. */
  auditKey: (workspaceId: string): Key => ({ pk: workspace(workspaceId), sk: 'AUDIT-KEY' }),
  /** An erasure of a user. It is in the outbox of purges, before the purges of chats: `#` sorts before every time. */
  operatorsErasure: (workspaceId: string, hash: string): Key => ({
    pk: 'OPERATOR#PURGES',
    sk: `#${workspaceId}#${hash}`,
  }),
  /** The outbox of the purges of all workspaces, by the time of the deletion. */
  operatorsPurge: (deletedAt: string, workspaceId: string, chatId: number): Key => ({
    pk: 'OPERATOR#PURGES',
    sk: `${deletedAt}#${workspaceId}#${chatId}`,
  }),
  /**
   * Index of the workspaces that delete unused chats, with the days of their retention and the progress of their walks.
   */
  operatorsRetention: (workspaceId: string): Key => ({ pk: 'OPERATOR#RETENTION', sk: workspaceId }),
  /** The report of the slots that workspaces have in one process of a function. Functions read and write it. */
  slotReport: (process: string): Key => ({ pk: 'SLOTS', sk: process }),
  operatorsBatch: (batchId: string): Key => ({ pk: `OPERATOR#BATCH#${batchId}`, sk: 'BATCH' }),
  /** The audit entries of one workspace, by time. `operatorsAudit` has those of all workspaces. */
  audit: (workspaceId: string, at: string, id: string): Key => ({
    pk: `${workspace(workspaceId)}#AUDIT`,
    sk: `${at}#${id}`,
  }),
  operatorsAudit: (at: string, id: string): Key => ({ pk: 'OPERATOR#AUDIT', sk: `${at}#${id}` }),
  /** The prices of all models, for `agentctl usage`. Functions do not read them. */
  operatorsPrices: (): Key => ({ pk: 'OPERATOR#PRICES', sk: 'PRICES' }),
  operatorsWorkspace: (workspaceId: string): Key => ({ pk: 'OPERATOR#WORKSPACES', sk: workspaceId }),
  operatorsAgent: (agentId: string): Key => ({ pk: `OPERATOR#AGENT#${agentId}`, sk: 'AGENT' }),
  operatorsApiKey: (keyId: string): Key => ({ pk: `OPERATOR#KEY#${keyId}`, sk: 'KEY' }),
} as const;
