import { Writable } from 'node:stream';
import middy from '@middy/core';
import { bytesPerToken } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import { endRequest } from '#runtime/observability/invocation.ts';
import { type RateLimiter, startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, noteAgentDepth, type Request, readRequest, type ValidRequest } from './request.ts';
import { envelopeForm, headersOf, type ResponseForm, type WholeResponse } from './response-form.ts';

export interface ResponseWriter {
  /** The first bytes of the stream may be what sends status and headers. */
  open(statusCode: number, headers: Record<string, string>): Writable;
  /** Constant for an upload to a web function. */
  remainingMilliseconds(): number;
  /** Missing for uploads, and in a function that gets an event: it does not know whether its client is connected. */
  onGone?(listener: () => void): void;
}

/** The promise rejects if the work fails after it has opened the response. */
export type Serve = (request: Request, writer: ResponseWriter) => Promise<void>;

export type OpenResponse = (headers?: Record<string, string>) => Writable;

interface Success {
  data: unknown;
  message?: string;
  headers?: Record<string, string>;
  status?: number;
}

interface Work extends Pick<RateLimiter, 'awaitRateLimit' | 'takeMore' | 'charge'> {
  request: Request;
  open: OpenResponse;
  remainingMilliseconds: () => number;
  /** Work for which a streamed response does not wait. The request ends after it. */
  finishAfterResponse: (work: Promise<unknown>) => void;
  onGone: NonNullable<ResponseWriter['onGone']>;
}

interface Options {
  /** Whether the work itself awaits the rate limit before it writes. Otherwise the work starts after the check. */
  awaitsRateLimit?: boolean;
  checkUsers?: CheckUsers;
  form?: ResponseForm;
}

interface Exchange {
  readonly request: Request;
  readonly writer: ResponseWriter;
  limiter?: RateLimiter;
  body?: Writable;
  afterResponse?: Promise<unknown>;
}

/**
 * An error before the response is opened becomes an error response. A later one cuts the response off, so that clients
 * can notice it.
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

const requestEnd = ({ name }: Pick<Route, 'name'>) => ({
  after: () => endRequest(name),
  onError: ({ error }: Pick<Step, 'error'>) => endRequest(name, error),
});

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

function chargeWrites(stream: Writable, { charge }: Pick<RateLimiter, 'charge'>): void {
  const write: (chunk: string | Uint8Array) => boolean = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array) => {
    charge({ downloadedMegabytes: Buffer.byteLength(chunk) / bytesPerToken });
    return write(chunk);
  };
}

/** Ends the stream, and waits until it has taken everything or the reader is gone. */
export async function endOf(stream: Writable): Promise<void> {
  if (stream.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once('error', reject);
  stream.once('close', resolve);
  stream.end(() => resolve());
  return promise;
}

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
