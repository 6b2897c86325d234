import { type RouteName, routes } from '#contract/routes.ts';
import type { FunctionName } from './function-names.ts';
import type { ObjectAction, TableAction } from './service-function.ts';
import type { UpdatedItems } from './update-statement.ts';

type Other = Exclude<FunctionName, RouteName>;

/** A worker's time: one request's, and what it takes to store its reply. */
export const workerTimeoutSeconds = 300;

interface FunctionProperties {
  description: string;
  timeoutSeconds: number;
  /** The stage's setting unless said. */
  memoryMegabytes?: number;
}

interface Access {
  table: readonly TableAction[];
  content?: readonly ObjectAction[];
  files?: readonly ObjectAction[];
  /** Makes links to the address that its caller asked for. */
  links?: true;
  /** Asks models of other providers, with the settings of a reply. */
  model?: true;
  replySettings?: true;
  batchSettings?: true;
  webhooks?: 'taken' | 'called';
  stageLimits?: true;
  /** Counts what is used. */
  usage?: true;
}

const batchReader = ['GetItem', 'BatchGetItem', 'Query'] as const;
const batchWriter = [...batchReader, 'PutItem', 'UpdateItem', 'ConditionCheckItem'] as const;

/** Who needs what. A transaction needs the permissions of the single actions in it. */
export const access: Readonly<Record<FunctionName, Access>> = {
  'authorize-request': { table: ['GetItem', 'BatchGetItem'], stageLimits: true },
  'list-published-agents': { table: ['GetItem', 'BatchGetItem', 'Query'] },
  'create-chat': { table: ['GetItem', 'BatchGetItem', 'PutItem'] },
  'list-chats': { table: ['GetItem', 'BatchGetItem'], links: true },
  'list-messages': {
    table: ['GetItem', 'BatchGetItem', 'Query'],
    content: ['GetObject'],
    files: ['GetObject'],
    links: true,
  },
  'send-message': {
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem'],
    content: ['GetObject', 'ListBucket', 'PutObject', 'DeleteObject'],
    files: ['GetObject', 'ListBucket'],
    model: true,
    usage: true,
  },
  'upload-file': {
    table: ['PutItem'],
    usage: true,
    // Never in parts, each of which is more than the gateway takes.
    files: ['GetObject', 'PutObject', 'PutObjectTagging', 'DeleteObject'],
  },
  'prepare-attachment': { table: ['GetItem'], content: ['PutObject'], files: ['GetObject', 'ListBucket'] },
  'record-feedback': { table: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'] },
  'create-batch': {
    // It counts the batches that are open.
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'BatchWriteItem'],
    replySettings: true,
    batchSettings: true,
    webhooks: 'taken',
  },
  'list-batches': { table: batchReader, links: true },
  'get-batch': { table: ['GetItem', 'Query'] },
  'list-batch-results': { table: batchReader, content: ['GetObject'], links: true },
  'cancel-batch': { table: ['GetItem', 'Query', 'UpdateItem'] },
  'process-batch-items': {
    table: batchWriter,
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

/** Functions behind no route. */
const others: Readonly<Record<Other, FunctionProperties>> = {
  'authorize-request': {
    description: 'Checks the API key of every request',
    // One consistent read and a cold start; a client waits no longer to be told that its key is not known.
    timeoutSeconds: 10,
  },
  'prepare-attachment': {
    description: 'Reads an uploaded file for models',
    // Of 50 MB the slowest that we know take 60 s with a whole processor, which 1,769 MB are.
    timeoutSeconds: 60,
    memoryMegabytes: 2048,
  },
  'process-batch-items': {
    description: 'Answers requests of batches',
    timeoutSeconds: workerTimeoutSeconds,
  },
  'fail-dead-letters': {
    description: 'Ends requests of batches that the queue has given up',
    timeoutSeconds: 60,
  },
  'dispatch-batch': {
    description: 'Puts the requests of a batch into the queue, and notes down what wakes its workflow',
    timeoutSeconds: 120,
  },
  'advance-batch': {
    description: 'Looks what has become of a batch, and closes it at its end',
    timeoutSeconds: 60,
  },
  'fail-batch': { description: 'Ends a batch that cannot be carried through', timeoutSeconds: 60 },
  'deliver-webhook': {
    description: 'Calls the webhook of a batch that has ended',
    // The most that the setting lets a receiver take, and as much again for the table and the key.
    timeoutSeconds: 60,
  },
  'reconcile-batches': {
    description: 'Takes up what crashes and outages have left of batches and webhooks',
    // The minute to its next run. It starts no check after 45 s.
    timeoutSeconds: 60,
  },
};

const isRoute = (name: FunctionName): name is RouteName => name in routes;

export function propertiesOf(name: FunctionName): FunctionProperties {
  if (!isRoute(name)) return others[name];
  const { summary, timeoutSeconds } = routes[name];
  return { description: summary, timeoutSeconds };
}

/** Rows that a function updates, of a table in which it may otherwise update nothing. */
export function updatedItemsOf(name: FunctionName): UpdatedItems[] {
  if (name === 'authorize-request') return ['apiKeys'];
  if (name === 'upload-file') return ['rateBuckets', 'usage'];
  return isRoute(name) ? ['rateBuckets'] : [];
}

export const functionNames = Object.keys(access) as readonly FunctionName[];

/** Functions that are HTTP servers. */
export const webFunctionNames = ['receive-uploads'] as const;
