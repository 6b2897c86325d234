import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { type RouteName, routes } from '#contract/routes.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { observesRequests } from './invocation.ts';
import { openRateGate, rateHeadersOf } from './rate-gate.ts';
import { callerOf, readRequest, type ValidRequest } from './read-request.ts';

type Routes = typeof routes;

/**
 * The Lambda of a route that answers with one JSON payload.
 * @param waits that `answer` itself waits to be admitted before it writes, so that what it reads goes on beside
 */
export const bufferedRoute = <Name extends RouteName>(
  name: Name,
  answer: (
    request: ValidRequest<Routes[Name]>,
  ) => Promise<{ data: unknown; message?: string; headers?: Record<string, string> }>,
  { waits = routes[name].method === 'GET' } = {},
) =>
  middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .onError((request) => {
      const { error, event } = request;
      request.response = failureResponse(error, event.requestContext.requestId, rateHeadersOf(event));
    })
    .use(observesRequests(name))
    .handler(async (event) => {
      const { rateClass, success: succeeded } = routes[name];
      const gate = openRateGate(event, rateClass, callerOf(event));
      const {
        data,
        message = null,
        headers,
      } = await gate.through(async () => {
        const request = readRequest(routes[name], event, gate);
        if (!waits) await gate.admitted;
        return answer(request as ValidRequest<Routes[Name]>);
      });
      const { requestId } = event.requestContext;
      const allHeaders = { ...gate.headers(), ...headers };
      return jsonResponse(succeeded.status, success(data, message), requestId, allHeaders);
    });
