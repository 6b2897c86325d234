/**
 * Invokes a function once, and waits for its end.
 * @param call.payload the function's event, as JSON
 * @param call.timeout in milliseconds
 * @returns `payload`, as JSON: the result, or what the function has thrown if `hasFailed`
 * @throws OutboundFailure, such as if the function may not be called, does not exist or is busy, does not end in this
 *   time, or returns too much; Error for other errors of Lambda; the signal's reason. None of their texts has the ARN
 */
export type InvokeFunction = (call: {
  arn: string;
  payload: string;
  timeout: number;
  signal: AbortSignal;
}) => Promise<{ payload: string; hasFailed: boolean }>;
