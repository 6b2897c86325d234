import { type RouteName, routes } from '#contract/routes.ts';
import type { ObjectAction, TableAction } from './function-grants.ts';
import type { FunctionName } from './function-names.ts';
import type { UpdatedItems } from './update-statement.ts';

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
  table: readonly TableAction[];
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
  /** The function adds to the workspace's usage counts, so it gets the setting for how long they are kept. */
  usage?: true;
}

const batchReader = ['GetItem', 'BatchGetItem', 'Query'] as const;
const batchWriter = [...batchReader, 'PutItem', 'UpdateItem', 'ConditionCheckItem'] as const;

/** What each function may access. A transaction needs the permissions of its single actions. */
export const access: Readonly<Record<FunctionName, Access>> = {
  'authorize-request': { table: ['GetItem', 'BatchGetItem'], stageLimits: true, signsCallers: true },
  'list-published-agents': { table: ['GetItem', 'BatchGetItem', 'Query'] },
  'create-chat': { table: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'] },
  'list-chats': { table: ['GetItem', 'BatchGetItem'], originSecret: true },
  'get-chat': { table: ['GetItem', 'BatchGetItem'] },
  'rename-chat': { table: ['GetItem', 'BatchGetItem', 'UpdateItem'] },
  'delete-chat': { table: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'] },
  'erase-user': { table: ['GetItem', 'PutItem', 'DeleteItem'] },
  'list-messages': {
    table: ['GetItem', 'BatchGetItem', 'Query'],
    content: ['GetObject'],
    files: ['GetObject'],
    originSecret: true,
  },
  'send-message': {
    // DeleteItem: if an attached file has just been erased, its index items are deleted.
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    content: ['GetObject', 'ListBucket', 'PutObject', 'DeleteObject'],
    files: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
  },
  'stop-reply': { table: ['GetItem', 'BatchGetItem', 'UpdateItem'] },
  'resume-stream': { table: ['GetItem', 'BatchGetItem', 'Query'] },
  'upload-file': {
    table: ['PutItem'],
    usage: true,
    // No AbortMultipartUpload: one part is larger than a request that the gateway accepts.
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'],
  },
  'prepare-attachment': { table: ['GetItem'], content: ['PutObject'], files: ['GetObject', 'ListBucket'] },
  'purge-chat': {
    table: [...batchWriter, 'BatchWriteItem', 'DeleteItem'],
    content: ['ListBucket', 'DeleteObject'],
    files: ['DeleteObject'],
  },
  'delete-unused-chats': {
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'BatchWriteItem'],
  },
  'record-feedback': {
    table: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
  },
  'create-batch': {
    // Query counts the open batches.
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'BatchWriteItem'],
    replySettings: true,
    batchSettings: true,
    webhooks: 'accepted',
  },
  'list-batches': { table: batchReader, originSecret: true },
  'get-batch': { table: ['GetItem', 'Query'] },
  'list-batch-results': { table: batchReader, content: ['GetObject'], originSecret: true },
  'cancel-batch': { table: ['GetItem', 'Query', 'UpdateItem'] },
  'list-models': { table: ['GetItem', 'BatchGetItem', 'Query'] },
  'get-model': { table: ['GetItem'] },
  'complete-chat': {
    // What agents' tools read: other agents and knowledge. Nothing is stored but the usage.
    table: ['GetItem', 'BatchGetItem'],
    content: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
  },
  'reject-openai-path': { table: [] },
  'process-batch-items': {
    table: [...batchWriter, 'DeleteItem'],
    content: ['GetObject', 'ListBucket', 'PutObject', 'DeleteObject'],
    files: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
    batchSettings: true,
  },
  'fail-dead-letters': { table: batchWriter, replySettings: true },
  'dispatch-batch': { table: [...batchReader, 'UpdateItem'] },
  'advance-batch': { table: [...batchReader, 'PutItem', 'UpdateItem', 'DeleteItem'] },
  'fail-batch': { table: [...batchReader, 'PutItem', 'UpdateItem', 'DeleteItem'] },
  'deliver-webhook': {
    table: ['GetItem', 'BatchGetItem', 'PutItem'],
    webhooks: 'called',
  },
  'reconcile-batches': {
    table: [...batchReader, 'PutItem', 'UpdateItem', 'DeleteItem'],
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
  'process-batch-items': {
    description: 'Processes the requests of batches',
    timeoutSeconds: workerTimeoutSeconds,
  },
  'fail-dead-letters': {
    description: 'Fails requests of batches whose messages are in the dead-letter queue',
    timeoutSeconds: 60,
  },
  'dispatch-batch': {
    description: 'Sends the requests of a batch to the queue, and stores the task token of its workflow',
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

/** Items that a function may update although it has no general permission for UpdateItem. */
export function updatedItemsOf(name: FunctionName): UpdatedItems[] {
  if (name === 'authorize-request') return ['apiKeys'];
  if (name === 'upload-file' || name === 'complete-chat') return ['rateBuckets', 'usage'];
  return isRoute(name) ? ['rateBuckets'] : [];
}

export const functionNames = Object.keys(access) as readonly FunctionName[];

/** Functions that are HTTP servers. */
export const webFunctionNames = ['receive-uploads', 'serve-chats'] as const;
export type WebFunctionName = (typeof webFunctionNames)[number];

export const webAccess: Readonly<Record<WebFunctionName, Access & { updated: readonly UpdatedItems[] }>> = {
  'receive-uploads': {
    table: ['GetItem', 'BatchGetItem', 'PutItem'],
    updated: ['rateBuckets', 'usage', 'apiKeys'],
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject', 'AbortMultipartUpload'],
    originSecret: true,
    stageLimits: true,
    usage: true,
  },
  // What `send-message` needs is enough for the other routes as well.
  'serve-chats': { ...access['send-message'], updated: updatedItemsOf('send-message'), signsCallers: true },
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
