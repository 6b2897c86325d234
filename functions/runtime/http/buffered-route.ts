import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import type { Route } from '#contract/routes/route.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { endRequest } from '#runtime/observability/invocation.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { observedRoute } from './observed-route.ts';
import { rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import {
  type CheckUsers,
  callerOf,
  type RequestEvent,
  readRequest,
  type ValidRequest,
} from './read-request.ts';
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
      awaitRateLimit: AwaitRateLimit,
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
    }: { awaitsRateLimit?: boolean; checkUsers?: CheckUsers } = {},
  ): BufferedResponder =>
  async (event) => {
    const limiter = startRateLimit(event, route.rateClass, callerOf(event));
    const {
      data,
      message = null,
      headers,
      status = route.status,
    } = await limiter.through(async () => {
      const request = await readRequest(route, event, checkUsers);
      if (!awaitsRateLimit) await limiter.awaitRateLimit();
      return respond(request, limiter.awaitRateLimit);
    });
    const { requestId } = event.requestContext;
    const allHeaders = { ...limiter.headers(), ...headers };
    return jsonResponse(status, success(data, message), requestId, allHeaders);
  };

/** The Lambda handler of a buffered route: see `respondBuffered`. */
export const bufferedRoute = <R extends Route>(
  route: R,
  ...given: [Parameters<typeof respondBuffered<R>>[1], Parameters<typeof respondBuffered<R>>[2]?]
) => observedRoute(route, respondBuffered(route, ...given));

/** Serves a buffered route in a web function. */
export const serveBuffered =
  ({ name }: Pick<Route, 'name'>, respond: BufferedResponder): RouteServer =>
  async (event, writer) => {
    let failure: unknown;
    const { statusCode, headers, body } = await respond(event).catch((error: unknown) => {
      failure = error;
      return failureResponse(error, event.requestContext.requestId, rateHeadersOf(event));
    });
    writer.open(statusCode, headers as Record<string, string>).end(body);
    await endRequest(name, failure);
  };
