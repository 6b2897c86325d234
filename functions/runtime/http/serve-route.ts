import { Writable } from 'node:stream';
import middy from '@middy/core';
import { bytesPerToken } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import { endRequest } from '#runtime/observability/invocation.ts';
import { type RateLimiter, startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, noteAgentDepth, type Request, readRequest, type ValidRequest } from './request.ts';
import { envelopeForm, headersOf, type ResponseForm, type WholeResponse } from './response-form.ts';

/** Sends the response of one request, from a Lambda function or from a web function. */
export interface ResponseWriter {
  /** Begins the response. Returns the stream of the body, whose first bytes may be what sends status and headers. */
  open(statusCode: number, headers: Record<string, string>): Writable;
  /**
   * Returns the milliseconds until the timeout of the route. For an upload to a web function, always the whole timeout.
   */
  remainingMilliseconds(): number;
  /**
   * Calls the listener if the client disconnects. It is missing for uploads, and in a Lambda function, which does not
   * know whether its client is connected.
   */
  onGone?(listener: () => void): void;
}

/** Serves a request of one route. The promise rejects if the response stays incomplete. */
export type Serve = (request: Request, writer: ResponseWriter) => Promise<void>;

/** Begins a response with the success status, as `ResponseWriter.open` does. */
export type OpenResponse = (headers?: Record<string, string>) => Writable;

/** A JSON response, sent as a whole. */
interface Success {
  data: unknown;
  message?: string;
  headers?: Record<string, string>;
  /** The default is the route's success status. */
  status?: number;
}

/** What the work of a route gets, in addition to the valid values of the request. */
interface Work extends Pick<RateLimiter, 'awaitRateLimit' | 'takeMore' | 'charge'> {
  request: Request;
  open: OpenResponse;
  /** Returns the milliseconds until the timeout of the route. */
  remainingMilliseconds: () => number;
  /** Registers work for which a streamed response does not wait. The request ends after this work. */
  finishAfterResponse: (work: Promise<unknown>) => void;
  onGone: NonNullable<ResponseWriter['onGone']>;
}

interface Options {
  /**
   * Whether the work itself awaits the rate limit before it writes, so that its reads run concurrently with the check.
   * Otherwise the work starts after the check. Default: true for GET and for streamed responses.
   */
  awaitsRateLimit?: boolean;
  /** Only for routes with an external user. */
  checkUsers?: CheckUsers;
  form?: ResponseForm;
}

/** A request, its writer, and what the steps of its route add. */
interface Exchange {
  readonly request: Request;
  readonly writer: ResponseWriter;
  limiter?: RateLimiter;
  /** The body of the response, once its status is sent. */
  body?: Writable;
  afterResponse?: Promise<unknown>;
}

/**
 * Makes a function that serves a route: it checks the request, lets `work` respond, and ends the response. The work
 * returns a JSON response, or opens a response and writes it. An error before the status is sent becomes an error
 * response. A later error cuts the response off, so that clients can notice it.
 */
export function serveRoute<R extends Route>(
  route: R,
  work: (request: ValidRequest<R>, work: Work) => Promise<Success> | Promise<void>,
  {
    awaitsRateLimit = route.method === 'GET' || route.transfer === 'streamed',
    checkUsers,
    form = envelopeForm,
  }: Options = {},
): Serve {
  const respond = async (exchange: Exchange): Promise<void> => {
    const { request, writer } = exchange;
    const caller = form.callerOf(request);
    const limiter = startRateLimit(route.rateClass, caller);
    exchange.limiter = limiter;
    const open = (status: number, headers: Record<string, string> = {}): Writable => {
      const limits = form.rateHeaders(limiter.headers());
      exchange.body = writer.open(status, { ...headersOf(request.id), ...limits, ...headers });
      if (route.rateClass === 'reads' && route.transfer === 'streamed') chargeWrites(exchange.body, limiter);
      return exchange.body;
    };
    const { awaitRateLimit, takeMore, charge } = limiter;
    const success = await limiter.through(async () => {
      noteAgentDepth(request, route);
      const valid = await readRequest(route, request, caller, checkUsers);
      if (!awaitsRateLimit) await awaitRateLimit();
      return work(valid, {
        ...{ request, awaitRateLimit, takeMore, charge },
        open: (headers) => open(route.status, headers),
        remainingMilliseconds: writer.remainingMilliseconds,
        finishAfterResponse: (pending) => {
          exchange.afterResponse = pending;
        },
        onGone: writer.onGone ?? (() => undefined),
      });
    });
    if (success)
      open(success.status ?? route.status, success.headers).write(
        JSON.stringify(form.success(success.data, success.message ?? null)),
      );
  };
  // An error passes through the steps in reverse order.
  const served = middy<Exchange, 'responded'>()
    .use(requestEnd(route))
    .use(responseEnd)
    .use(errorResponse(form))
    .handler(async (exchange) => {
      await respond(exchange);
      return 'responded' as const;
    });
  return async (request, writer) => void (await served({ request, writer }, {} as never));
}

interface Step {
  event: Exchange;
  error: unknown;
  response: unknown;
}

/** Makes the step that publishes metrics and trace of a request. */
const requestEnd = ({ name }: Pick<Route, 'name'>) => ({
  after: () => endRequest(name),
  onError: ({ error }: Pick<Step, 'error'>) => endRequest(name, error),
});

/**
 * The step that ends the response, unless an error has cut the response off. In both cases it then waits for the work
 * after the response.
 */
const responseEnd = {
  async after({ event }: Pick<Step, 'event'>): Promise<void> {
    if (event.body !== undefined) await endOf(event.body);
    await event.afterResponse;
  },
  async onError({ event, response }: Step): Promise<void> {
    if (response !== undefined && event.body !== undefined) await endOf(event.body);
    await event.afterResponse;
  },
};

/** Makes the step that sends an error response, unless a response has started. */
const errorResponse = (form: ResponseForm) => ({
  onError(step: Step): void {
    const { request, writer, limiter, body } = step.event;
    if (body !== undefined) return;
    const rateHeaders = form.rateHeaders(limiter?.headers() ?? {});
    const failure = form.failure(step.error, request.id, rateHeaders);
    step.event.body = writer.open(failure.statusCode, failure.headers);
    step.event.body.write(failure.body);
    step.response = 'responded';
  },
});

/** Charges the megabytes of a response to the limiter as they are written. */
function chargeWrites(stream: Writable, { charge }: Pick<RateLimiter, 'charge'>): void {
  const write: (chunk: string | Uint8Array) => boolean = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array) => {
    charge({ downloadedMegabytes: Buffer.byteLength(chunk) / bytesPerToken });
    return write(chunk);
  };
}

/** Ends a stream, and waits until it has taken everything or the reader is gone. */
export async function endOf(stream: Writable): Promise<void> {
  if (stream.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once('error', reject);
  stream.once('close', resolve);
  stream.end(() => resolve());
  return promise;
}

/** Serves a request and returns the whole response. */
export async function wholeResponse(
  serve: (open: ResponseWriter['open']) => Promise<void>,
): Promise<WholeResponse> {
  let response: WholeResponse = { statusCode: 0, headers: {}, body: '' };
  await serve((statusCode, headers) =>
    collectText((body) => {
      response = { statusCode, headers, body };
    }),
  );
  return response;
}

/** Makes a stream that passes its whole text to `give` at its end. */
export function collectText(give: (text: string) => void): Writable {
  let text = '';
  return new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      text += chunk;
      done();
    },
    final(done) {
      give(text);
      done();
    },
  });
}
