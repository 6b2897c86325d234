type Counts = Readonly<Record<string, number>>;

export type OperationCalls = ReturnType<typeof callsOf>;

type Units = readonly [read: number, write: number];

const callsOf = (
  functionName: string,
  dynamodb: Counts,
  [readUnits, writeUnits]: Units,
  requests: Counts = {},
) => ({
  /** By function, with the setting `webFunctions: uploads`. */
  invocations: { [functionName]: 1 } as Counts,
  dynamodb,
  readUnits,
  writeUnits,
  /** To other services, such as `s3 PUT object`. */
  requests,
  transitions: 0,
});

const callsOfMessage = (updates: number, units: Units): OperationCalls =>
  callsOf('SendMessage', { BatchGetItem: 1, PutItem: 2, Query: 1, UpdateItem: updates }, units);

const callsOfBatch = (dynamodb: Counts, [readUnits, writeUnits]: Units): OperationCalls => ({
  invocations: { AdvanceBatch: 1, CreateBatch: 1, DispatchBatch: 1, ProcessBatchItems: 1 },
  dynamodb: { BatchWriteItem: 1, ...dynamodb },
  readUnits,
  writeUnits,
  requests: { 'sfn SendTaskSuccess': 1, 'sfn StartExecution': 1, 'sqs SendMessageBatch': 1 },
  transitions: 5,
});

const batchWithWebhook = callsOfBatch(
  { BatchGetItem: 4, GetItem: 12, PutItem: 31, Query: 11, TransactWriteItems: 5, UpdateItem: 19 },
  [29, 140],
);

/**
 * The budget of each operation: `test/service/operation-cost.test.ts` fails if a local run exceeds it. There, texts
 * have a few words, `upload-file` sends 1 MB, and workspaces have limits. If you make an operation cheaper, lower its
 * budget.
 */
export const operations = {
  'list-published-agents': callsOf('ListPublishedAgents', { GetItem: 1, Query: 1, UpdateItem: 1 }, [2, 1]),
  'create-chat': callsOf('CreateChat', { BatchGetItem: 1, TransactWriteItems: 1, UpdateItem: 2 }, [3, 18]),
  // The title and its usage have a write each.
  'send-message, first of a chat': callsOfMessage(6, [4, 8]),
  // Without the cache of histories, which saves the query.
  'send-message, streamed': callsOfMessage(4, [4, 6]),
  'send-message, plain': callsOfMessage(4, [4, 6]),
  'list-models': callsOf('ListModels', { GetItem: 2, Query: 1, UpdateItem: 1 }, [3, 1]),
  'get-model': callsOf('GetModel', { GetItem: 2, UpdateItem: 1 }, [2, 1]),
  'complete-chat': callsOf('CompleteChat', { BatchGetItem: 1, UpdateItem: 2 }, [3, 2]),
  'reject-openai-path': callsOf('RejectOpenaiPath', { GetItem: 1, UpdateItem: 1 }, [1, 1]),
  // At most ten reads wait for the end of the reply.
  'stop-reply': callsOf('StopReply', { BatchGetItem: 1, GetItem: 10, UpdateItem: 2 }, [12, 2]),
  // For a complete reply of a few words.
  'resume-stream': callsOf('ResumeStream', { BatchGetItem: 1, Query: 2, UpdateItem: 1 }, [6, 1]),
  'list-chats': callsOf('ListChats', { BatchGetItem: 1, Query: 2, UpdateItem: 1 }, [52, 1]),
  'get-chat': callsOf('GetChat', { BatchGetItem: 1, UpdateItem: 1 }, [3, 1]),
  'rename-chat': callsOf('RenameChat', { BatchGetItem: 1, UpdateItem: 2 }, [3, 2]),
  // With the first run of the purge, for a chat without messages or files. That run writes one unit; the second, two.
  'delete-chat': {
    ...callsOf(
      'DeleteChat',
      { BatchGetItem: 2, GetItem: 4, Query: 3, TransactWriteItems: 1, UpdateItem: 2 },
      [13, 18],
      { 's3 GET bucket?list-type': 1, 'sqs SendMessageBatch': 1 },
    ),
    invocations: { DeleteChat: 1, PurgeChat: 1 },
  },
  // With the first run of the erasure, for a user without data. That run writes one unit; the second, two.
  'erase-user': {
    ...callsOf('EraseUser', { GetItem: 2, Query: 5, TransactWriteItems: 1, UpdateItem: 2 }, [7, 8], {
      'sqs SendMessageBatch': 1,
    }),
    invocations: { EraseUser: 1, PurgeChat: 1 },
  },
  'list-messages': callsOf('ListMessages', { BatchGetItem: 1, Query: 1, UpdateItem: 1 }, [4, 1]),
  'upload-file': callsOf('UploadServer', { BatchGetItem: 1, PutItem: 1, UpdateItem: 2 }, [2, 3], {
    's3 PUT object': 1,
    's3 PUT object?tagging': 1,
  }),
  'delete-file': callsOf('DeleteFile', { BatchWriteItem: 1, GetItem: 1, Query: 2, UpdateItem: 3 }, [3, 4], {
    's3 DELETE object': 3,
  }),
  'record-feedback': callsOf(
    'RecordFeedback',
    { BatchGetItem: 1, GetItem: 1, TransactWriteItems: 1, UpdateItem: 1 },
    [4, 5],
  ),
  'list-batches': callsOf('ListBatches', { BatchGetItem: 1, Query: 2, UpdateItem: 1 }, [4, 1]),
  'get-batch': callsOf('GetBatch', { GetItem: 1, UpdateItem: 1 }, [1, 1]),
  'get-batch, open': callsOf('GetBatch', { GetItem: 1, Query: 10, UpdateItem: 1 }, [11, 1]),
  'list-batch-results': callsOf(
    'ListBatchResults',
    { BatchGetItem: 1, GetItem: 2, Query: 10, UpdateItem: 1 },
    [62, 1],
  ),
  'cancel-batch': callsOf('CancelBatch', { GetItem: 3, Query: 1, UpdateItem: 2 }, [4, 2], {
    'sfn SendTaskSuccess': 1,
  }),
  'batch of 10': callsOfBatch(
    { BatchGetItem: 3, GetItem: 12, PutItem: 31, Query: 11, TransactWriteItems: 3, UpdateItem: 19 },
    [27, 124],
  ),
  'batch of 30': callsOfBatch(
    { BatchGetItem: 3, GetItem: 12, PutItem: 91, Query: 11, TransactWriteItems: 3, UpdateItem: 39 },
    [29, 286],
  ),
  'batch of 70': callsOfBatch(
    { BatchGetItem: 5, GetItem: 16, PutItem: 211, Query: 11, TransactWriteItems: 5, UpdateItem: 83 },
    [37, 630],
  ),
  'batch of 10, with a webhook': {
    ...batchWithWebhook,
    invocations: { ...batchWithWebhook.invocations, DeliverWebhook: 1 },
    requests: { ...batchWithWebhook.requests, 'kms Decrypt': 1, 'kms Encrypt': 1 },
    transitions: 7,
  },
} satisfies Record<string, OperationCalls>;

export type OperationName = keyof typeof operations;

/** If there is nothing to do. */
export const reconcilerCalls = callsOf('ReconcileBatches', { Query: 3 }, [3, 0]);

/** If no workspace has retention. */
export const retentionCalls = callsOf('DeleteUnusedChats', { Query: 1 }, [1, 0]);

/**
 * Budgets for the units that retention adds in `test/service/paging-cost.test.ts`, without purges: `idlePass` a day
 * for each workspace that has it, `usedChatReadUnits` a day for each chat that is used but old enough to be deleted,
 * and `deletedChat` for each deleted chat, if many of one agent without users are deleted.
 */
export const retention = {
  idlePass: { readUnits: 3, writeUnits: 1 },
  usedChatReadUnits: 1.2,
  deletedChat: { readUnits: 4.1, writeUnits: 12.1 },
} as const;
