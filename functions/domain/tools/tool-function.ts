/**
 * Must not repeat a call: the function may have acted already.
 * @param call.timeout in milliseconds
 * @returns `payload`: the text of the result, which may be no JSON, or of the error if `hasFailed`
 * @throws OutboundFailure, such as for a busy function or a timeout; Error for other errors of Lambda; the signal's
 * reason. None of their texts has the ARN
 */
export type InvokeFunction = (call: {
  arn: string;
  payload: string;
  timeout: number;
  signal: AbortSignal;
}) => Promise<{ payload: string; hasFailed: boolean }>;
