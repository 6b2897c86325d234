import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import { beginRequest, endRequest } from '#runtime/observability/invocation.ts';
import { failureResponse, headersOf } from './http-response.ts';
import { openRateGate, rateHeadersOf } from './rate-gate.ts';
import { type AdmitUsers, callerOf, readRequest, type ValidRequest } from './read-request.ts';

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
  /** The client does not wait for this work; the function ends when it is done. */
  finishAfterAnswer: (work: Promise<void>) => void;
}

/**
 * The Lambda of a route that writes its answer piece by piece. An error before `open` becomes a failure envelope; after
 * it the answer ends unfinished, in JSON that is not closed, so that no client takes a part for the whole.
 */
export const streamedRoute = <R extends Route>(
  route: R,
  answer: (request: ValidRequest<R>, open: OpenResponse, invocation: Invocation) => Promise<void>,
  { admitUsers }: { admitUsers?: AdmitUsers } = {},
) =>
  awslambda.streamifyResponse(async (event, stream, context) => {
    // API Gateway invokes once more behind a streamed response, with an event that is no request.
    if (event.requestContext === undefined) return endOf(stream);
    const { requestId } = event.requestContext;
    beginRequest(event, context, route.name);
    let opened: Writable | undefined;
    const open = (statusCode: number, headers: Record<string, string>): Writable => {
      opened = awslambda.HttpResponseStream.from(stream, { statusCode, headers });
      return opened;
    };
    let failure: unknown;
    let pending = Promise.resolve();
    const finishAfterAnswer = (work: Promise<void>): void => {
      pending = work;
    };
    try {
      const gate = openRateGate(event, route.rateClass, callerOf(event));
      await gate.through(async () => {
        const request = await readRequest(route, event, gate, admitUsers);
        const openSuccess: OpenResponse = (headers = {}) =>
          open(route.status, { ...headersOf(requestId), ...gate.headers(), ...headers });
        await answer(request, openSuccess, { context, finishAfterAnswer });
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
