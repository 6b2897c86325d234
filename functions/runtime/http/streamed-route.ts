import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { endRequest, startRequest } from '#runtime/observability/invocation.ts';
import { failureResponse, headersOf } from './http-response.ts';
import { rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, callerOf, readRequest, type ValidRequest } from './read-request.ts';

/** What Lambda's managed Node.js runtime puts into the global scope. */
declare const awslambda: {
  streamifyResponse(
    handler: (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>,
  ): (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>;
  HttpResponseStream: {
    from(stream: Writable, head: { statusCode: number; headers: Record<string, string> }): Writable;
  };
};

/** Sends the status of success, the headers of every answer and these; what is written to the result follows at once. */
export type OpenResponse = (headers?: Record<string, string>) => Writable;

interface Invocation {
  context: Context;
  awaitRateLimit: AwaitRateLimit;
  /** The client does not wait for this work; the function ends when it is done. */
  finishAfterResponse: (work: Promise<void>) => void;
}

/**
 * The Lambda of a route that writes its answer piece by piece. An error before `open` becomes a failure envelope; after
 * it the answer ends unfinished, in JSON that is not closed, so that no client takes a part for the whole.
 */
export const streamedRoute = <R extends Route>(
  route: R,
  respond: (request: ValidRequest<R>, open: OpenResponse, invocation: Invocation) => Promise<void>,
  { checkUsers }: { checkUsers?: CheckUsers } = {},
) =>
  awslambda.streamifyResponse(async (event, stream, context) => {
    // API Gateway invokes once more behind a streamed response, with an event that is no request.
    if (event.requestContext === undefined) return endOf(stream);
    const { requestId } = event.requestContext;
    startRequest(event, context, route.name);
    let opened: Writable | undefined;
    const open = (statusCode: number, headers: Record<string, string>): Writable => {
      opened = awslambda.HttpResponseStream.from(stream, { statusCode, headers });
      return opened;
    };
    let failure: unknown;
    let pending = Promise.resolve();
    const finishAfterResponse = (work: Promise<void>): void => {
      pending = work;
    };
    try {
      const limiter = startRateLimit(event, route.rateClass, callerOf(event));
      await limiter.through(async () => {
        const request = await readRequest(route, event, checkUsers);
        const openSuccess: OpenResponse = (headers = {}) =>
          open(route.status, { ...headersOf(requestId), ...limiter.headers(), ...headers });
        const { awaitRateLimit } = limiter;
        await respond(request, openSuccess, { context, awaitRateLimit, finishAfterResponse });
      });
    } catch (error) {
      failure = error;
      if (opened !== undefined) {
        await pending;
        await endRequest(route.name, error);
        throw error;
      }
      const { statusCode, headers, body } = failureResponse(error, requestId, rateHeadersOf(event));
      open(statusCode, headers as Record<string, string>).write(body);
    }
    await endOf(opened ?? stream);
    await pending;
    await endRequest(route.name, failure);
  });

const endOf = (stream: Writable): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once('error', reject);
  stream.end(() => resolve());
  return promise;
};
