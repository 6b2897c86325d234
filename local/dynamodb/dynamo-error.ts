export interface DynamoError {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

const ONGOING = 'Transaction is ongoing for the item';

const dynamoError = (status: number, name: string, fields: object): DynamoError => ({
  status,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, ...fields },
});

export const internalServerError = dynamoError(500, 'InternalServerError', {
  message: 'Internal server error',
});

export const transactionConflict = dynamoError(400, 'TransactionConflictException', { message: ONGOING });

export type CancellationCode = 'None' | 'TransactionConflict' | 'ThrottlingError';

const REASON_MESSAGES: Record<CancellationCode, string | undefined> = {
  None: undefined,
  TransactionConflict: ONGOING,
  ThrottlingError: 'Throughput exceeds the current capacity of your table or index',
};

export const transactionCanceled = (codes: readonly CancellationCode[]): DynamoError =>
  dynamoError(400, 'TransactionCanceledException', {
    CancellationReasons: codes.map((Code) => ({ Code, Message: REASON_MESSAGES[Code] })),
    Message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes.join(', ')}]`,
  });

export const throttled = (kind: 'Read' | 'Write', tableName: string): DynamoError => {
  const reason = `Table${kind}KeyRangeThroughputExceeded`;
  const resource = `arn:aws:dynamodb:us-east-1:000000000000:table/${tableName}`;
  return dynamoError(400, 'ThrottlingException', {
    message: `${REASON_MESSAGES.ThrottlingError}. DynamoDB is automatically scaling your table or index so please try again shortly.`,
    ThrottlingReasons: [{ reason, resource }],
  });
};

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
