import type { APIGatewayProxyResult } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import { endRequest } from '#runtime/observability/invocation.ts';
import { headersOf } from './http-response.ts';
import { observedRoute } from './observed-route.ts';
import { type RateLimiter, rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, type RequestEvent, readRequest, type ValidRequest } from './read-request.ts';
import { envelopeForm, type ResponseForm } from './response-form.ts';
import type { RouteServer } from './streamed-route.ts';

/** Responds to a request of one route. Rejects with the error of a failed request. */
export type BufferedResponder = (event: RequestEvent) => Promise<APIGatewayProxyResult>;

/**
 * A route with one buffered JSON response.
 * @param options.awaitsRateLimit true if `respond` itself awaits the rate limit before it writes, so that its reads run
 * concurrently with the check. Otherwise `respond` starts after the check. Default: true for GET.
 */
export const respondBuffered =
  <R extends Route>(
    route: R,
    respond: (
      request: ValidRequest<R>,
      limiter: Pick<RateLimiter, 'awaitRateLimit' | 'takeMore'>,
    ) => Promise<{
      data: unknown;
      message?: string;
      headers?: Record<string, string>;
      /** By default the route's status of success. */
      status?: number;
    }>,
    {
      awaitsRateLimit = route.method === 'GET',
      checkUsers,
      form = envelopeForm,
    }: { awaitsRateLimit?: boolean; checkUsers?: CheckUsers; form?: ResponseForm } = {},
  ): BufferedResponder =>
  async (event) => {
    const limiter = startRateLimit(event, route.rateClass, form.callerOf(event));
    const {
      data,
      message = null,
      headers,
      status = route.status,
    } = await limiter.through(async () => {
      const request = await readRequest(route, event, checkUsers);
      if (!awaitsRateLimit) await limiter.awaitRateLimit();
      return respond(request, limiter);
    });
    const { requestId } = event.requestContext;
    return {
      statusCode: status,
      headers: { ...headersOf(requestId), ...form.rateHeaders(limiter.headers()), ...headers },
      body: JSON.stringify(form.success(data, message)),
    };
  };

/** The Lambda handler of a buffered route: see `respondBuffered`. */
export const bufferedRoute = <R extends Route>(
  route: R,
  ...given: [Parameters<typeof respondBuffered<R>>[1], Parameters<typeof respondBuffered<R>>[2]?]
) => observedRoute(route, respondBuffered(route, ...given), given[1]?.form);

/** Serves a buffered route in a web function. */
export const serveBuffered =
  ({ name }: Pick<Route, 'name'>, respond: BufferedResponder): RouteServer =>
  async (event, writer) => {
    let failure: unknown;
    const { statusCode, headers, body } = await respond(event).catch((error: unknown) => {
      failure = error;
      return envelopeForm.failure(error, event.requestContext.requestId, rateHeadersOf(event));
    });
    writer.open(statusCode, headers as Record<string, string>).end(body);
    await endRequest(name, failure);
  };
