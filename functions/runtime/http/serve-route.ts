import { Writable } from 'node:stream';
import middy from '@middy/core';
import { limits } from '#contract/limits.ts';
import { bytesPerToken, furtherTokens, type RequestClass, type Tokens } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import type { AwaitRateLimit, BucketOwner, RateLimitDecision } from '#domain/workspaces/rate-limits.ts';
import { rateLimits } from '#runtime/composition/services.ts';
import { environment } from '#runtime/environment/environment.ts';
import { endRequest } from '#runtime/observability/invocation.ts';
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

/** Reads may run concurrently with the check; writes and the response must wait for it. */
export interface RateLimiter {
  readonly awaitRateLimit: AwaitRateLimit;
  /** @throws Error while the check is pending */
  headers(): Record<string, string>;
  /**
   * The work itself awaits the rate limit before it writes.
   * @throws rateLimited, which takes precedence over errors of the work
   */
  through<Result>(work: () => Promise<Result>): Promise<Result>;
  /** @throws badRequest if the limit never allows so many at once; rateLimited */
  takeMore(tokens: Tokens): Promise<void>;
  /** Without a check: the bucket may then reject later requests of the key. */
  charge(tokens: Tokens): void;
}

export const startRateLimit = (
  requestClass: RequestClass,
  { workspaceId, apiKeyId, limits }: Caller,
): RateLimiter =>
  limits === null
    ? withoutLimit
    : limiterOf({ workspaceId, apiKeyId, limits }, { [requestClass]: 1, ...furtherTokens[requestClass] });

const withoutLimit: RateLimiter = {
  awaitRateLimit: async () => {},
  headers: () => ({}),
  through: (work) => work(),
  takeMore: async () => {},
  charge: () => {},
};

function limiterOf(owner: BucketOwner, tokens: Tokens): RateLimiter {
  const pending = rateLimits().take(owner, tokens);
  let resolved = pending instanceof Promise ? undefined : pending;
  const checked = Promise.resolve(pending).then((decision) => {
    resolved = decision;
    if (decision.rejection !== null) throw decision.rejection;
  });
  // Until a caller waits for the rejection, this handler avoids an unhandled rejection.
  checked.catch(() => {});
  return {
    awaitRateLimit: () => checked,
    headers: () => rateHeadersOf(resolved),
    async through(work) {
      if (resolved?.rejection) throw resolved.rejection;
      // A rejection by the limiter takes precedence over any outcome of the work, and in Lambda no work may continue
      // after the function has returned.
      const [outcome] = await Promise.allSettled([work(), checked]);
      await checked;
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
    async takeMore(more) {
      const decision = await rateLimits().take(owner, more);
      if (decision.rejection === null) return;
      resolved = decision;
      throw decision.rejection;
    },
    charge: (used) => rateLimits().charge(owner, used),
  };
}

function rateHeadersOf(decision: RateLimitDecision | undefined): Record<string, string> {
  if (decision === undefined) throw new Error('The response was made before the rate limit check ended');
  if (decision.bucket === null) return {};
  const { limit, remaining, reset } = decision.bucket;
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(reset),
  };
}

/**
 * In milliseconds. The time of a reply starts when its request reaches the function.
 * @param remainingMilliseconds until the timeout of the route
 */
export function timeForModel(
  { timeoutSeconds }: Pick<Route, 'timeoutSeconds'>,
  isStreamed: boolean,
  remainingMilliseconds: number,
): number {
  const seconds = isStreamed ? limits.replySeconds : environment('plainReplySeconds');
  const elapsed = timeoutSeconds * 1000 - remainingMilliseconds;
  return seconds * 1000 - elapsed;
}
