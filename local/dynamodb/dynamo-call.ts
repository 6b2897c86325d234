/** One recorded call to DynamoDB. */
export interface DynamoCall {
  /** The operation, such as `PutItem`. */
  readonly target: string;
  /** The table, or several tables in the order of their names, separated by commas. */
  readonly tableName: string;
  readonly functionName: string | undefined;
  readonly status: number;
  readonly consumed: { readonly readUnits: number; readonly writeUnits: number };
  /** Epoch milliseconds when the call arrived. */
  readonly at: number;
}
