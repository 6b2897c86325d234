import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { bytesPerToken } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import { endRequest, runRequest } from '#runtime/observability/invocation.ts';
import { headersOf } from './http-response.ts';
import { type RateLimiter, rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, type RequestEvent, readRequest, type ValidRequest } from './read-request.ts';
import { envelopeForm, type ResponseForm } from './response-form.ts';

/** A global of Lambda's managed Node.js runtime. */
declare const awslambda: {
  streamifyResponse(
    handler: (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>,
  ): (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>;
  HttpResponseStream: {
    from(stream: Writable, head: { statusCode: number; headers: Record<string, string> }): Writable;
  };
};

/**
 * Sends the success status and the headers. Returns the stream of the body, whose chunks are sent without buffering.
 */
export type OpenResponse = (headers?: Record<string, string>) => Writable;

interface Invocation extends Pick<RateLimiter, 'awaitRateLimit' | 'charge'> {
  /** Milliseconds until the function's timeout. */
  remainingMilliseconds: () => number;
  /** The response ends without waiting for this work; the function ends after it. */
  finishAfterResponse: (work: Promise<unknown>) => void;
  onGone: NonNullable<ResponseWriter['onGone']>;
}

/** How a function sends the response of one request: as a Lambda function or as a web function. */
export interface ResponseWriter {
  /** Sends status and headers. Returns the stream of the body. */
  open(statusCode: number, headers: Record<string, string>): Writable;
  /** Milliseconds until the function's timeout. */
  remainingMilliseconds(): number;
  /** Calls the listener if the client disconnects. A Lambda function does not know whether its client is there. */
  onGone?(listener: () => void): void;
}

/** Responds to a request of one route. Rejects if the response is incomplete. */
export type RouteServer = (request: RequestEvent, writer: ResponseWriter) => Promise<void>;

/**
 * A route that streams its response. An error before `open` becomes an error response. An error after `open` ends the
 * response early: its JSON stays incomplete, so that clients notice the error.
 */
export const serveStreamed =
  <R extends Route>(
    route: R,
    respond: (request: ValidRequest<R>, open: OpenResponse, invocation: Invocation) => Promise<void>,
    { checkUsers, form = envelopeForm }: { checkUsers?: CheckUsers; form?: ResponseForm } = {},
  ): RouteServer =>
  async (event, writer) => {
    const { requestId } = event.requestContext;
    let opened: Writable | undefined;
    const open = (statusCode: number, headers: Record<string, string>): Writable => {
      opened = writer.open(statusCode, headers);
      return opened;
    };
    let failure: unknown;
    let pending: Promise<unknown> = Promise.resolve();
    const finishAfterResponse = (work: Promise<unknown>): void => {
      pending = work;
    };
    try {
      const limiter = startRateLimit(event, route.rateClass, form.callerOf(event));
      await limiter.through(async () => {
        const request = await readRequest(route, event, checkUsers);
        const openSuccess: OpenResponse = (headers = {}) => {
          const stream = open(route.status, {
            ...headersOf(requestId),
            ...form.rateHeaders(limiter.headers()),
            ...headers,
          });
          if (route.rateClass === 'reads') chargeWrites(stream, limiter);
          return stream;
        };
        const { awaitRateLimit, charge } = limiter;
        const { remainingMilliseconds, onGone = () => undefined } = writer;
        await respond(request, openSuccess, {
          ...{ remainingMilliseconds, awaitRateLimit, charge, finishAfterResponse, onGone },
        });
      });
    } catch (error) {
      failure = error;
      if (opened !== undefined) {
        await pending;
        await endRequest(route.name, error);
        throw error;
      }
      const { statusCode, headers, body } = form.failure(
        error,
        requestId,
        form.rateHeaders(rateHeadersOf(event)),
      );
      open(statusCode, headers as Record<string, string>).write(body);
    }
    if (opened !== undefined) await endOf(opened);
    await pending;
    await endRequest(route.name, failure);
  };

/** Charges the bytes of a response as they are written. */
function chargeWrites(stream: Writable, { charge }: Pick<RateLimiter, 'charge'>): void {
  const write: (chunk: string | Uint8Array) => boolean = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array) => {
    charge({ downloadedMegabytes: Buffer.byteLength(chunk) / bytesPerToken });
    return write(chunk);
  };
}

/** The Lambda handler of a streamed route. */
export const streamedHandler = (serve: RouteServer, { name }: Pick<Route, 'name'>) =>
  awslambda.streamifyResponse(async (event, stream, context) => {
    // After a streamed response, API Gateway invokes the function once more with an event that is not a request.
    if (event.requestContext === undefined) return endOf(stream);
    const writer: ResponseWriter = {
      open: (statusCode, headers) => awslambda.HttpResponseStream.from(stream, { statusCode, headers }),
      remainingMilliseconds: () => context.getRemainingTimeInMillis(),
    };
    await runRequest(event, context, () => serve(event, writer), name);
  });

/** The Lambda handler of a route that streams its response: see `serveStreamed`. */
export const streamedRoute = <R extends Route>(
  route: R,
  ...given: [Parameters<typeof serveStreamed<R>>[1], Parameters<typeof serveStreamed<R>>[2]?]
) => streamedHandler(serveStreamed(route, ...given), route);

/** Ends a stream. Resolves when everything is sent, or the reader is gone. */
const endOf = async (stream: Writable): Promise<void> => {
  if (stream.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once('error', reject);
  stream.once('close', resolve);
  stream.end(() => resolve());
  return promise;
};
