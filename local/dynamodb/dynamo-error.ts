export interface DynamoError {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

const TYPE_PREFIX = 'com.amazonaws.dynamodb.v20120810#';
const ONGOING = 'Transaction is ongoing for the item';

export const internalServerError: DynamoError = {
  status: 500,
  body: { __type: `${TYPE_PREFIX}InternalServerError`, message: 'Internal server error' },
};

export const transactionConflict: DynamoError = {
  status: 400,
  body: { __type: `${TYPE_PREFIX}TransactionConflictException`, message: ONGOING },
};

export type CancellationCode = 'None' | 'TransactionConflict' | 'ThrottlingError';

const REASON_MESSAGES: Record<CancellationCode, string | undefined> = {
  None: undefined,
  TransactionConflict: ONGOING,
  ThrottlingError: 'Throughput exceeds the current capacity of your table or index',
};

export function transactionCanceled(codes: readonly CancellationCode[]): DynamoError {
  return {
    status: 400,
    body: {
      __type: `${TYPE_PREFIX}TransactionCanceledException`,
      CancellationReasons: codes.map((Code) => ({ Code, Message: REASON_MESSAGES[Code] })),
      Message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes.join(', ')}]`,
    },
  };
}

export const throttled = (kind: 'Read' | 'Write', tableName: string): DynamoError => ({
  status: 400,
  body: {
    __type: `${TYPE_PREFIX}ThrottlingException`,
    message: `${REASON_MESSAGES.ThrottlingError}. DynamoDB is automatically scaling your table or index so please try again shortly.`,
    ThrottlingReasons: [
      {
        reason: `Table${kind}KeyRangeThroughputExceeded`,
        resource: `arn:aws:dynamodb:us-east-1:000000000000:table/${tableName}`,
      },
    ],
  },
});

export interface WireResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

export const jsonResponse = (
  { status, body }: DynamoError,
  requestId: string | string[] = crypto.randomUUID(),
): WireResponse => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': requestId },
  body: Buffer.from(JSON.stringify(body)),
});
