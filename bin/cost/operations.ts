/** The calls of an operation to AWS, by the units that AWS bills. */
export interface OperationCalls {
  /** Invocations by function, with the setting `webFunctions: uploads`. */
  invocations: Record<string, number>;
  /** Requests to DynamoDB by operation. `readUnits` and `writeUnits` are the capacity units that they consume. */
  dynamodb: Record<string, number>;
  readUnits: number;
  writeUnits: number;
  /** Requests to other services, such as `s3 PUT object`. */
  requests: Record<string, number>;
  /** State transitions of Step Functions. */
  transitions: number;
}

/**
 * The budget of each operation: its measured calls. `test/service/operation-cost.test.ts` counts the calls of a local
 * run, prints them, and fails if they exceed the budget. Conditions: texts have a few words, a file has 1 MB, pages
 * have 50 items (a history has 4), the workspace has limits, and its chats have a user. With the setting `webFunctions:
 * all`, the local run has no invocations of `CreateChat` and `SendMessage`: a web function serves their routes. If you
 * make an operation cheaper, lower its budget.
 */
export const operations = {
  'list-published-agents': {
    invocations: { ListPublishedAgents: 1 },
    dynamodb: { GetItem: 1, Query: 1, UpdateItem: 1 },
    readUnits: 2,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'create-chat': {
    invocations: { CreateChat: 1 },
    dynamodb: { BatchGetItem: 2, TransactWriteItems: 1, UpdateItem: 1 },
    readUnits: 7,
    writeUnits: 13,
    requests: {},
    transitions: 0,
  },
  'send-message, first of a chat': {
    invocations: { SendMessage: 1 },
    dynamodb: { BatchGetItem: 1, PutItem: 2, Query: 1, UpdateItem: 5 },
    readUnits: 4,
    writeUnits: 7,
    requests: {},
    transitions: 0,
  },
  'send-message, streamed': {
    invocations: { SendMessage: 1 },
    dynamodb: { BatchGetItem: 1, PutItem: 2, Query: 1, UpdateItem: 4 },
    readUnits: 4,
    writeUnits: 6,
    requests: {},
    transitions: 0,
  },
  'send-message, plain': {
    invocations: { SendMessage: 1 },
    dynamodb: { BatchGetItem: 1, PutItem: 2, Query: 1, UpdateItem: 4 },
    readUnits: 4,
    writeUnits: 6,
    requests: {},
    transitions: 0,
  },
  'list-chats': {
    invocations: { ListChats: 1 },
    dynamodb: { BatchGetItem: 1, GetItem: 1, UpdateItem: 1 },
    readUnits: 51,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'list-messages': {
    invocations: { ListMessages: 1 },
    dynamodb: { BatchGetItem: 1, Query: 1, UpdateItem: 1 },
    readUnits: 4,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'upload-file': {
    invocations: {},
    dynamodb: { BatchGetItem: 1, PutItem: 1, UpdateItem: 2 },
    readUnits: 2,
    writeUnits: 3,
    requests: { 's3 PUT object': 1, 's3 PUT object?tagging': 1 },
    transitions: 0,
  },
  'record-feedback': {
    invocations: { RecordFeedback: 1 },
    dynamodb: { BatchGetItem: 1, GetItem: 1, TransactWriteItems: 1, UpdateItem: 1 },
    readUnits: 4,
    writeUnits: 3,
    requests: {},
    transitions: 0,
  },
  'list-batches': {
    invocations: { ListBatches: 1 },
    dynamodb: { BatchGetItem: 1, GetItem: 1, UpdateItem: 1 },
    readUnits: 3,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'get-batch': {
    invocations: { GetBatch: 1 },
    dynamodb: { GetItem: 1, UpdateItem: 1 },
    readUnits: 1,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'get-batch, open': {
    invocations: { GetBatch: 1 },
    dynamodb: { GetItem: 1, Query: 10, UpdateItem: 1 },
    readUnits: 11,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'list-batch-results': {
    invocations: { ListBatchResults: 1 },
    dynamodb: { BatchGetItem: 1, GetItem: 2, Query: 10, UpdateItem: 1 },
    readUnits: 62,
    writeUnits: 1,
    requests: {},
    transitions: 0,
  },
  'cancel-batch': {
    invocations: { CancelBatch: 1 },
    dynamodb: { GetItem: 2, Query: 1, TransactWriteItems: 1, UpdateItem: 1 },
    readUnits: 3,
    writeUnits: 5,
    requests: { 'sfn SendTaskSuccess': 1 },
    transitions: 0,
  },
  'batch of 10': {
    invocations: { AdvanceBatch: 1, CreateBatch: 1, DispatchBatch: 1, ProcessBatchItems: 1 },
    dynamodb: {
      BatchGetItem: 3,
      BatchWriteItem: 1,
      GetItem: 9,
      PutItem: 30,
      Query: 13,
      TransactWriteItems: 3,
      UpdateItem: 18,
    },
    readUnits: 37,
    writeUnits: 114,
    requests: { 'sfn SendTaskSuccess': 1, 'sfn StartExecution': 1, 'sqs SendMessageBatch': 1 },
    transitions: 5,
  },
  'batch of 30': {
    invocations: { AdvanceBatch: 1, CreateBatch: 1, DispatchBatch: 1, ProcessBatchItems: 1 },
    dynamodb: {
      BatchGetItem: 4,
      BatchWriteItem: 1,
      GetItem: 9,
      PutItem: 90,
      Query: 14,
      TransactWriteItems: 3,
      UpdateItem: 39,
    },
    readUnits: 40,
    writeUnits: 277,
    requests: { 'sfn SendTaskSuccess': 1, 'sfn StartExecution': 1, 'sqs SendMessageBatch': 1 },
    transitions: 5,
  },
  'batch of 70': {
    invocations: { AdvanceBatch: 1, CreateBatch: 1, DispatchBatch: 1, ProcessBatchItems: 1 },
    dynamodb: {
      BatchGetItem: 10,
      BatchWriteItem: 1,
      GetItem: 11,
      PutItem: 210,
      Query: 16,
      TransactWriteItems: 5,
      UpdateItem: 87,
    },
    readUnits: 54,
    writeUnits: 621,
    requests: { 'sfn SendTaskSuccess': 1, 'sfn StartExecution': 1, 'sqs SendMessageBatch': 1 },
    transitions: 5,
  },
  'batch of 10, with a webhook': {
    invocations: {
      AdvanceBatch: 1,
      CreateBatch: 1,
      DeliverWebhook: 1,
      DispatchBatch: 1,
      ProcessBatchItems: 1,
    },
    dynamodb: {
      BatchGetItem: 4,
      BatchWriteItem: 1,
      GetItem: 9,
      PutItem: 30,
      Query: 13,
      TransactWriteItems: 5,
      UpdateItem: 18,
    },
    readUnits: 39,
    writeUnits: 128,
    requests: {
      'kms Decrypt': 1,
      'kms Encrypt': 1,
      'sfn SendTaskSuccess': 1,
      'sfn StartExecution': 1,
      'sqs SendMessageBatch': 1,
    },
    transitions: 7,
  },
} as const satisfies Record<string, OperationCalls>;

export type OperationName = keyof typeof operations;
