/** One recorded call to DynamoDB. */
export interface DynamoCall {
  /** The operation, such as `PutItem`. */
  readonly target: string;
  /** The table, or tables joined by a comma in the order of their names. */
  readonly tableName: string;
  readonly functionName: string | undefined;
  readonly status: number;
  readonly consumed: { readonly readUnits: number; readonly writeUnits: number };
  /** Milliseconds since the epoch at which the call arrived. */
  readonly at: number;
}
