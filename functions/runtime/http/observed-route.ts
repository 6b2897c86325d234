import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import { observedRequests, requestObserver } from '#runtime/observability/invocation.ts';
import { rateHeadersOf } from './rate-limiter.ts';
import { envelopeForm, type ResponseForm } from './response-form.ts';

/** The Lambda handler of a route with a buffered response: errors become responses, and each request is observed. */
export const observedRoute = (
  { name }: Pick<Route, 'name'>,
  handle: (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>,
  form: ResponseForm = envelopeForm,
) =>
  observedRequests(
    middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
      .onError((request) => {
        const { error, event } = request;
        const rateHeaders = form.rateHeaders(rateHeadersOf(event));
        request.response = form.failure(error, event.requestContext.requestId, rateHeaders);
      })
      .use(requestObserver(name))
      .handler(handle),
    name,
  );
