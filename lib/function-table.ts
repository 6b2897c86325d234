import { type RouteName, routes } from '#contract/routes.ts';
import type { ObjectAction, ReadAction } from './function-grants.ts';
import type { FunctionName } from './function-names.ts';
import type { Writes } from './written-items.ts';

type NonRouteName = Exclude<FunctionName, RouteName>;

/**
 * The timeout of a batch worker, Lambda's longest: it starts requests for a minute, the last of them may take 270 s
 * (`batchItemSeconds`), and the rest is for storing replies, also in an outage.
 */
export const workerTimeoutSeconds = 900;

/**
 * A function deletes some thousand items a second. If a chat has more than it can delete, the next delivery goes on with
 * what is left.
 */
export const purgeTimeoutSeconds = 300;

interface FunctionProperties {
  description: string;
  timeoutSeconds: number;
  /** The setting `functionMemoryMegabytes` by default. */
  memoryMegabytes?: number;
}

export interface Access {
  reads: readonly ReadAction[];
  writes?: Writes;
  content?: readonly ObjectAction[];
  files?: readonly ObjectAction[];
  /** The function checks whether a request came through the distribution. */
  originSecret?: true;
  /** The function calls models and agents' tools. It also gets the reply settings. */
  model?: true;
  /** The function gets the settings that limit a reply. */
  replySettings?: true;
  batchSettings?: true;
  webhooks?: 'accepted' | 'called';
  stageLimits?: true;
  /** The function signs or checks what the authorizer knows of a caller. */
  signsCallers?: true;
  /** The function shares slots of the stage's pools, so it gets their sizes, and reads and writes the reports of slots. */
  shares?: true;
  /** The function adds to the workspace's usage counts, so it gets the setting for how long they are kept. */
  usage?: true;
}

const batchReader = ['GetItem', 'BatchGetItem', 'Query'] as const;
/** What a function writes that only takes from the rate limit. */
const limited: Writes = { UpdateItem: ['rateBuckets'] };
/** What a list writes, which its client may read slowly. */
const listed: Writes = { ...limited, PutItem: ['slotReports'] };
/** To end a batch, which also deletes its index entries of open batches and closes the turns of its requests. */
const batchEnds: Writes = {
  PutItem: ['batches', 'batchLists', 'chats', 'operatorsWebhooks'],
  UpdateItem: ['batches', 'batchLists', 'chats'],
  DeleteItem: ['batchLists', 'operatorsOpenBatches'],
};
/** To create chats. */
const chatCreations = {
  PutItem: ['chats', 'chatLists', 'users'],
  UpdateItem: ['chatLists', 'lastNumbers', 'users'],
} as const satisfies Writes;
/** To delete chats: each leaves its purge in the outbox. An entry of several chats is updated. */
const chatDeletions = {
  PutItem: ['operatorsPurges'],
  UpdateItem: ['chatLists', 'users'],
  DeleteItem: ['chats', 'chatLists', 'users'],
} as const satisfies Writes;

/** What each function may access. */
export const access: Readonly<Record<FunctionName, Access>> = {
  'authorize-request': {
    reads: ['GetItem', 'BatchGetItem'],
    writes: { UpdateItem: ['apiKeys'] },
    stageLimits: true,
    signsCallers: true,
  },
  'list-published-agents': { reads: ['GetItem', 'BatchGetItem', 'Query'], writes: listed, shares: true },
  'create-chat': {
    reads: ['GetItem', 'BatchGetItem'],
    writes: {
      PutItem: [...chatCreations.PutItem, 'idempotencyRecords'],
      UpdateItem: [...chatCreations.UpdateItem, 'rateBuckets'],
    },
  },
  'list-chats': {
    reads: ['GetItem', 'BatchGetItem', 'Query'],
    writes: listed,
    originSecret: true,
    shares: true,
  },
  'get-chat': { reads: ['GetItem', 'BatchGetItem'], writes: limited },
  'rename-chat': { reads: ['GetItem', 'BatchGetItem'], writes: { UpdateItem: ['chats', 'rateBuckets'] } },
  'delete-chat': {
    reads: ['GetItem', 'BatchGetItem'],
    writes: { ...chatDeletions, UpdateItem: [...chatDeletions.UpdateItem, 'rateBuckets'] },
  },
  'erase-user': {
    reads: ['GetItem', 'Query'],
    writes: {
      PutItem: ['audit', 'auditKeys', 'operatorsAudit', 'operatorsPurges'],
      UpdateItem: ['rateBuckets'],
    },
  },
  'list-messages': {
    reads: ['GetItem', 'BatchGetItem', 'Query'],
    writes: listed,
    content: ['GetObject'],
    files: ['GetObject'],
    originSecret: true,
    shares: true,
  },
  'send-message': {
    reads: ['GetItem', 'BatchGetItem', 'Query'],
    writes: {
      PutItem: ['chats', 'idempotencyRecords', 'slotReports'],
      UpdateItem: ['chats', 'files', 'rateBuckets', 'usage'],
      // If an attached file has just been erased, its index items are deleted.
      DeleteItem: ['chats', 'files'],
    },
    content: ['GetObject', 'ListBucket', 'PutObject', 'DeleteObject'],
    files: ['GetObject', 'ListBucket'],
    model: true,
    shares: true,
    usage: true,
  },
  'stop-reply': { reads: ['GetItem', 'BatchGetItem'], writes: { UpdateItem: ['chats', 'rateBuckets'] } },
  'resume-stream': { reads: ['GetItem', 'BatchGetItem', 'Query'], writes: limited },
  'upload-file': {
    reads: [],
    writes: { PutItem: ['files'], UpdateItem: ['rateBuckets', 'usage'] },
    usage: true,
    // No AbortMultipartUpload: one part is larger than a request that the gateway accepts.
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'],
  },
  'delete-file': {
    reads: ['GetItem', 'Query'],
    writes: { UpdateItem: ['files', 'rateBuckets'], BatchWriteItem: ['files'] },
    content: ['DeleteObject'],
    files: ['DeleteObject'],
  },
  // Its caller signs the address of the one file, and those of the results. It parses hostile files, so nothing else.
  'prepare-attachment': { reads: [] },
  'purge-chat': {
    reads: batchReader,
    writes: {
      PutItem: chatDeletions.PutItem,
      UpdateItem: [...chatDeletions.UpdateItem, 'batches', 'chats', 'files', 'operatorsPurges'],
      DeleteItem: [...chatDeletions.DeleteItem, 'operatorsPurges'],
      BatchWriteItem: ['chats', 'files', 'users'],
    },
    content: ['ListBucket', 'DeleteObject'],
    files: ['DeleteObject'],
  },
  'delete-unused-chats': {
    reads: ['GetItem', 'BatchGetItem', 'Query'],
    writes: {
      ...chatDeletions,
      UpdateItem: [...chatDeletions.UpdateItem, 'operatorsRetention'],
    },
  },
  'record-feedback': {
    reads: ['GetItem', 'BatchGetItem', 'ConditionCheckItem'],
    writes: { PutItem: ['chats', 'users'], UpdateItem: ['chats', 'rateBuckets'] },
  },
  'create-batch': {
    reads: ['GetItem', 'BatchGetItem'],
    writes: {
      PutItem: ['batches', 'batchLists', 'idempotencyRecords', 'operatorsBatches', 'operatorsOpenBatches'],
      UpdateItem: ['batchLists', 'lastNumbers', 'rateBuckets'],
      BatchWriteItem: ['batches', 'chats', 'users'],
    },
    replySettings: true,
    batchSettings: true,
    webhooks: 'accepted',
  },
  'list-batches': { reads: batchReader, writes: listed, originSecret: true, shares: true },
  'get-batch': { reads: batchReader, writes: limited },
  'list-batch-results': {
    reads: batchReader,
    writes: listed,
    content: ['GetObject'],
    originSecret: true,
    shares: true,
  },
  'cancel-batch': { reads: batchReader, writes: { UpdateItem: ['batches', 'rateBuckets'] } },
  'list-models': { reads: ['GetItem', 'BatchGetItem', 'Query'], writes: limited },
  'get-model': { reads: ['GetItem'], writes: limited },
  'complete-chat': {
    // What agents' tools read: other agents and knowledge. Nothing is stored but the usage.
    reads: ['GetItem', 'BatchGetItem'],
    writes: { UpdateItem: ['rateBuckets', 'usage'] },
    content: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
  },
  'reject-openai-path': { reads: ['GetItem'], writes: limited },
  'process-batch-items': {
    reads: batchReader,
    writes: {
      PutItem: ['batches', ...chatCreations.PutItem, 'slotReports'],
      UpdateItem: ['batches', 'chats', ...chatCreations.UpdateItem, 'files', 'rateBuckets', 'usage'],
      DeleteItem: ['chats', 'files'],
    },
    content: ['GetObject', 'ListBucket', 'PutObject', 'DeleteObject'],
    files: ['GetObject', 'ListBucket'],
    model: true,
    shares: true,
    usage: true,
    batchSettings: true,
    stageLimits: true,
  },
  'test-agent': {
    // What agents' tools read: other agents and knowledge. Nothing is stored but the usage.
    reads: ['GetItem', 'BatchGetItem'],
    writes: { UpdateItem: ['rateBuckets', 'usage'] },
    content: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
    stageLimits: true,
  },
  'dispatch-batch': { reads: ['GetItem'], writes: { PutItem: ['batches'], UpdateItem: ['batches'] } },
  'advance-batch': { reads: batchReader, writes: batchEnds },
  'fail-batch': { reads: batchReader, writes: batchEnds },
  'deliver-webhook': {
    reads: batchReader,
    writes: { PutItem: ['batches', 'slotReports'] },
    shares: true,
    webhooks: 'called',
  },
  'reconcile-batches': {
    reads: batchReader,
    writes: {
      PutItem: ['operatorsWebhooks'],
      UpdateItem: ['batches', 'operatorsPurges'],
      DeleteItem: ['operatorsOpenBatches', 'operatorsWebhooks'],
    },
    replySettings: true,
  },
};

/** Functions without a route. */
const nonRouteProperties: Readonly<Record<NonRouteName, FunctionProperties>> = {
  'authorize-request': {
    description: 'Checks the API key of every request',
    // One consistent read and a cold start. A client should not wait longer for the response that its key is unknown.
    timeoutSeconds: 10,
  },
  'prepare-attachment': {
    description: 'Reads an uploaded file for models',
    // The slowest known files of 50 MB take 60 s with one whole processor, which a function has from 1,769 MB on.
    timeoutSeconds: 60,
    memoryMegabytes: 2048,
  },
  'purge-chat': {
    description: 'Deletes the data of deleted chats and users',
    timeoutSeconds: purgeTimeoutSeconds,
  },
  'delete-unused-chats': {
    description: 'Deletes the chats that are unused for longer than their workspace retains them',
    // After four minutes, a run starts no further page. The last one takes seconds.
    timeoutSeconds: 300,
  },
  'test-agent': {
    description: 'Tests an agent for an operator',
    // A reply may take 300 s. The rest is for the reads before it and the writes after it.
    timeoutSeconds: 330,
  },
  'process-batch-items': {
    description: 'Processes the requests of batches',
    timeoutSeconds: workerTimeoutSeconds,
  },
  'dispatch-batch': {
    description:
      'Makes the slots of a batch, sends their messages, and stores the task token of its workflow',
    timeoutSeconds: 120,
  },
  'advance-batch': {
    description: 'Checks the state of a batch, and ends it after its last request',
    timeoutSeconds: 60,
  },
  'fail-batch': { description: 'Fails a batch that cannot be completed', timeoutSeconds: 60 },
  'deliver-webhook': {
    description: 'Calls the webhook of a batch that has ended',
    // The maximum of the setting webhookTimeoutSeconds (30 s), and as much for the table and the key.
    timeoutSeconds: 60,
  },
  'reconcile-batches': {
    description: 'Resumes batches and webhooks that crashes and outages have interrupted',
    // The next run begins one minute later. After 45 s, a run starts to check no further batch or webhook.
    timeoutSeconds: 60,
  },
};

const isRoute = (name: FunctionName): name is RouteName => name in routes;

export function propertiesOf(name: FunctionName): FunctionProperties {
  if (!isRoute(name)) return nonRouteProperties[name];
  const { summary, timeoutSeconds } = routes[name];
  return { description: summary, timeoutSeconds };
}

export const functionNames = Object.keys(access) as readonly FunctionName[];

/** Functions that are HTTP servers. */
export const webFunctionNames = ['receive-uploads', 'serve-chats'] as const;
export type WebFunctionName = (typeof webFunctionNames)[number];

export const webAccess: Readonly<Record<WebFunctionName, Access>> = {
  'receive-uploads': {
    reads: ['GetItem', 'BatchGetItem', 'Query'],
    writes: { PutItem: ['files', 'slotReports'], UpdateItem: ['apiKeys', 'rateBuckets', 'usage'] },
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject', 'AbortMultipartUpload'],
    originSecret: true,
    stageLimits: true,
    shares: true,
    usage: true,
  },
  // What `send-message` needs is enough for the other routes as well, but that one creates no chats.
  'serve-chats': {
    ...access['send-message'],
    writes: {
      ...access['send-message'].writes,
      PutItem: [...chatCreations.PutItem, 'idempotencyRecords', 'slotReports'],
      UpdateItem: ['chats', ...chatCreations.UpdateItem, 'files', 'rateBuckets', 'usage'],
    },
    signsCallers: true,
  },
};

/**
 * The routes that the web function `serve-chats` or four Lambda functions serve behind the gateway.
 * docs/decisions/014-shared-environments.md says why these.
 */
export const chatRoutes = ['send-message', 'create-chat', 'resume-stream', 'complete-chat'] as const;

export const isChatRoute = (name: FunctionName): boolean => chatRoutes.some((route) => route === name);

/** lib/settings/access.ts describes both settings. */
export interface EntryPointSettings {
  readonly webFunctions: 'all' | 'uploads' | 'none';
  readonly bothEntryPoints: boolean;
}

/**
 * What a stage has to serve `chatRoutes`. Both only while it changes from one to the other: the gateway calls the one
 * of `webFunctions`, and the other one ends its replies.
 */
export const entryPointsOfChats = ({
  webFunctions,
  bothEntryPoints,
}: EntryPointSettings): { webFunction: boolean; functions: boolean } => ({
  webFunction: webFunctions === 'all' || bothEntryPoints,
  functions: webFunctions !== 'all' || bothEntryPoints,
});
