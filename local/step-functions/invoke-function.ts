import { randomUUID } from 'node:crypto';
import type { Session } from '../iam/access-rules.ts';
import { findFunction, invokedArn } from '../lambda/find-function.ts';
import type { RunContext } from '../run-context.ts';

interface Invocation {
  readonly FunctionName?: string | undefined;
  readonly Payload?: unknown;
}

// Step Functions' limit for a state's input and output, in bytes of UTF-8.
export const STATE_BYTES = 256 * 1024;

/**
 * Returns the result of `lambda:invoke`, with the function's result in `Payload`.
 * @throws TaskError
 */
export async function invokeFunction(
  { FunctionName = '', Payload }: Invocation,
  { accessKeyId }: Session,
  context: RunContext,
) {
  const target = findFunction(context, FunctionName);
  if (!target) throw new TaskError('Lambda.ResourceNotFoundException', `Function not found: ${FunctionName}`);
  const rejection = context.access.rejectionOf(accessKeyId, [
    { action: 'lambda:InvokeFunction', resource: invokedArn(target, FunctionName) },
  ]);
  if (rejection) throw serviceError('AWSLambdaException', rejection.message, 403);
  const payload = JSON.stringify(Payload ?? {});
  checkSize(payload);
  const result = await target.invoke(payload);
  if (!result.succeeded) {
    const { errorType, errorMessage } = result;
    if (result.throttle !== undefined) throw serviceError(errorType, errorMessage, 429);
    throw new TaskError(errorType, JSON.stringify({ errorType, errorMessage }));
  }
  checkSize(result.payload);
  return {
    ExecutedVersion: '$LATEST',
    Payload: JSON.parse(result.payload || 'null') as unknown,
    SdkResponseMetadata: { RequestId: randomUUID() },
    StatusCode: 200,
  };
}

const serviceError = (name: string, message: string, status: number): TaskError =>
  new TaskError(
    `Lambda.${name}`,
    `${message} (Service: Lambda, Status Code: ${status}, Request ID: ${randomUUID()})`,
  );

function checkSize(json: string): void {
  if (Buffer.byteLength(json) <= STATE_BYTES) return;
  throw new TaskError(
    'States.DataLimitExceeded',
    'The state/task returned a result with a size exceeding the maximum number of bytes service limit.',
    true,
  );
}

/** Retry and Catch match its name. Its message becomes the Cause. */
export class TaskError extends Error {
  /** Read by the emulator: no Retry matches an error that is not retryable, and no Catch one that is not catchable. */
  readonly isRetryable: boolean;
  readonly isCatchable: boolean;

  constructor(name: string, cause: string, isFinal = false) {
    super(cause);
    this.name = name;
    this.isRetryable = !isFinal;
    this.isCatchable = !isFinal;
  }
}
