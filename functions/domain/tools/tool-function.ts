/**
 * Invokes a function once, and waits for its end.
 * @param call.payload JSON; `timeout` in milliseconds
 * @returns JSON: the result, or what the function has thrown
 * @throws OutboundFailure if it does not run, or not to its end in this time. None of its texts has the ARN
 */
export type InvokeFunction = (call: {
  arn: string;
  payload: string;
  timeout: number;
  signal: AbortSignal;
}) => Promise<{ payload: string; hasFailed: boolean }>;
