import { success } from '#contract/envelope.ts';
import type { Route } from '#contract/routes/route.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { jsonResponse } from './http-response.ts';
import { observedRoute } from './observed-route.ts';
import { startRateLimit } from './rate-limiter.ts';
import { type CheckUsers, callerOf, readRequest, type ValidRequest } from './read-request.ts';

/**
 * The Lambda handler of a route with one buffered JSON response.
 * @param options.awaitsRateLimit true if `respond` itself awaits the rate limit before it writes, so that its reads run
 * concurrently with the check. Otherwise `respond` starts after the check. Default: true for GET.
 */
export const bufferedRoute = <R extends Route>(
  route: R,
  respond: (
    request: ValidRequest<R>,
    awaitRateLimit: AwaitRateLimit,
  ) => Promise<{ data: unknown; message?: string; headers?: Record<string, string> }>,
  {
    awaitsRateLimit = route.method === 'GET',
    checkUsers,
  }: { awaitsRateLimit?: boolean; checkUsers?: CheckUsers } = {},
) =>
  observedRoute(route, async (event) => {
    const limiter = startRateLimit(event, route.rateClass, callerOf(event));
    const {
      data,
      message = null,
      headers,
    } = await limiter.through(async () => {
      const request = await readRequest(route, event, checkUsers);
      if (!awaitsRateLimit) await limiter.awaitRateLimit();
      return respond(request, limiter.awaitRateLimit);
    });
    const { requestId } = event.requestContext;
    const allHeaders = { ...limiter.headers(), ...headers };
    return jsonResponse(route.status, success(data, message), requestId, allHeaders);
  });
