import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import { observedRequests, requestObserver } from '#runtime/observability/invocation.ts';
import { failureResponse } from './http-response.ts';
import { rateHeadersOf } from './rate-limiter.ts';

/** The Lambda handler of a route with a buffered response: errors become envelopes, and each request is observed. */
export const observedRoute = (
  { name }: Pick<Route, 'name'>,
  handle: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>,
) =>
  observedRequests(
    middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
      .onError((request) => {
        const { error, event } = request;
        request.response = failureResponse(error, event.requestContext.requestId, rateHeadersOf(event));
      })
      .use(requestObserver(name))
      .handler(handle),
    name,
  );
