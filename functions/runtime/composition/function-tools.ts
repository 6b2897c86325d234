import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { clientTimeouts } from '#runtime/environment/environment.ts';

/** Import this module only dynamically: few agents have tools of functions. */

/** A result is larger than what any model gets of it. Lambda itself has a limit of 6 MB. */
const resultBytes = 1024 * 1024;

const clients = new Map<string, LambdaClient>();

/** The client of a function's Region. One attempt: a second one could do the work of a tool again. */
function clientFor(arn: string): LambdaClient {
  const region = arn.split(':')[3] ?? '';
  const client =
    clients.get(region) ??
    // A tool may take 80 s.
    new LambdaClient({
      region,
      maxAttempts: 1,
      requestHandler: { ...clientTimeouts, requestTimeout: 80_000 },
    });
  clients.set(region, client);
  return client;
}

export const functionTools = functionKind({
  async invoke({ arn, payload: Payload, timeout, signal }) {
    const limit = AbortSignal.timeout(timeout);
    const abortSignal = AbortSignal.any([signal, limit]);
    const end = await clientFor(arn)
      .send(new InvokeCommand({ FunctionName: arn, Payload }), { abortSignal })
      .catch((error: Error) => {
        signal.throwIfAborted();
        throw limit.aborted ? new OutboundFailure('timeout') : failureOf(error);
      });
    const payload = end.Payload ?? new Uint8Array();
    if (payload.length > resultBytes) throw new OutboundFailure('too-large');
    return { payload: Buffer.from(payload).toString(), hasFailed: end.FunctionError !== undefined };
  },
  // A request of a function for another reply says so.
  depth: () => 1,
}) as ToolKind;

/** Without the message of Lambda, which has the ARN. */
function failureOf({ name }: Error): Error {
  switch (name) {
    case 'AccessDeniedException':
      return new OutboundFailure('forbidden', 'This service may not call the function');
    case 'ResourceNotFoundException':
      return new OutboundFailure('refused', 'The function does not exist');
    case 'TooManyRequestsException':
      return new OutboundFailure('refused', 'The function is busy; it may answer later');
    default:
      return new Error(`The function was not called: ${name}`);
  }
}
